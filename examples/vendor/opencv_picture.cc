/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* opencv_picture.cc - a part of a pitched picture, blurred by OpenCV between kernels of fusec:
 * cv::Mat as strided arrays, nothing copied on the way in or out. Before the blur bytes become
 * floats, behind it a tone curve makes bytes again. */
#include <fusec/fusec.h>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <cmath>
#include <cstdio>

/* A picture of any pitch: rows, columns, channels. Shape and strides are the caller's. */
static fusec_tensor tensor(const cv::Mat &m, fusec_dtype t, int64_t shape[3], int64_t strides[3]) {
    fusec_tensor out = fusec_tensor();
    shape[0] = m.rows;
    shape[1] = m.cols;
    shape[2] = m.channels();
    strides[0] = (int64_t)(m.step[0] / m.elemSize1());
    strides[1] = m.channels();
    strides[2] = 1;
    out.data = m.data;
    out.shape = shape;
    out.strides = strides;
    out.rank = 3;
    out.dtype = t;
    return out;
}

/* Arrays of a call are dense. */
static int blur(void *, const fusec_call_args *a) {
    const int rows = (int)a->inputs[0].shape[0], columns = (int)a->inputs[0].shape[1];
    const cv::Mat from(rows, columns, CV_32FC3, a->inputs[0].data);
    cv::Mat to(rows, columns, CV_32FC3, a->outputs[0].data);
    try {
        cv::GaussianBlur(from, to, cv::Size(9, 9), 2);
    } catch (const cv::Exception &e) {
        std::snprintf(a->message, a->message_room, "%s", e.what());
        return 1;
    }
    return 0;
}

/* 255 * sqrt(v), halves to even. */
static fusec_value tone(fusec_value v) {
    return fusec_cast(fusec_round(fusec_mul(fusec_sqrt(v), fusec_num(255))), FUSEC_U8);
}

static fusec_program *compile(fusec_context *ctx) {
    const fusec_dtype dtype = FUSEC_F32;
    const int rank = 3;
    fusec_graph *g = nullptr;
    fusec_program *p = nullptr;
    if (fusec_graph_new(ctx, &g)) return nullptr;
    const fusec_dim shape[3] = {fusec_sym(g, "h"), fusec_sym(g, "w"), fusec_size(g, 3)};
    const fusec_value x = fusec_input(g, "x", FUSEC_U8, 3, shape);
    const fusec_value floats = fusec_div(fusec_cast(x, FUSEC_F32), fusec_num(255));
    fusec_value y;
    fusec_call_desc d = FUSEC_CALL_DESC_INIT;
    d.name = "GaussianBlur";
    d.host = blur;
    d.noutputs = 1;
    d.dtypes = &dtype;
    d.ranks = &rank;
    d.shapes = shape;
    fusec_call(g, &d, 1, &floats, &y);
    fusec_output(g, "y", tone(y));
    fusec_compile(g, &p);
    fusec_graph_free(g);
    return p;
}

int main() {
    cv::Mat whole(300, 400, CV_8UC3), result(300, 450, CV_8UC3, cv::Scalar(7, 7, 7)), floats, want;
    for (int i = 0; i < whole.rows; i++)
        for (int j = 0; j < whole.cols * 3; j++)
            whole.ptr(i)[j] = (uchar)((i * 31 + j * 17 + i * j / 50) % 256);
    const cv::Mat x = whole(cv::Rect(33, 21, 256, 192)), y = result(cv::Rect(5, 9, 256, 192));
    fusec_context *ctx = nullptr;
    fusec_options o = FUSEC_OPTIONS_INIT;
    o.device = "cpu";
    if (fusec_context_new(&o, &ctx)) return 1;
    fusec_program *p = compile(ctx);
    int64_t shape[2][3], strides[2][3];
    const fusec_tensor in = tensor(x, FUSEC_U8, shape[0], strides[0]);
    const fusec_tensor out = tensor(y, FUSEC_U8, shape[1], strides[1]);
    const int bad = !p || fusec_run(p, 1, &in, 1, &out);
    int worst = 0, touched = 0;
    x.convertTo(floats, CV_32FC3, 1.0 / 255);
    cv::GaussianBlur(floats.clone(), want, cv::Size(9, 9), 2);
    for (int i = 0; i < y.rows; i++)
        for (int j = 0; j < y.cols * 3; j++) {
            const int v = (int)std::nearbyint(255 * std::sqrt(want.ptr<float>(i)[j]));
            worst = std::max(worst, std::abs(v - y.ptr(i)[j]));
        }
    for (int i = 0; i < result.rows; i++)
        for (int j = 0; j < result.cols * 3; j++)
            touched += result.ptr(i)[j] != 7 && (i < 9 || i >= 9 + 192 || j < 15 || j >= 15 + 768);
    if (bad)
        std::fprintf(stderr, "%s\n", fusec_message(ctx));
    else
        std::printf("%d steps, largest difference %d, %d bytes outside\n", fusec_kernel_count(p),
                    worst, touched);
    fusec_program_free(p);
    fusec_context_free(ctx);
    return bad || worst > 1 || touched;
}
