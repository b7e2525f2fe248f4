! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
! smooth.f90 - a program of fusec on a matrix of Fortran, which is column-major: its strides say so, and nothing is copied.
program smooth
  use fusec
  implicit none
  integer, parameter :: n = 300, m = 200
  real(c_float), target :: x(n, m), y(n, m)
  integer(c_int64_t), target :: lengths(2) = [n, m], strides(2) = [1, n]
  type(fusec_options) :: options
  type(fusec_tensor) :: in(1), out(1)
  type(fusec_dim) :: shape(2)
  type(fusec_value) :: v, mean, e
  type(c_ptr) :: ctx, graph, prog
  integer(c_int) :: axis(1) = [0], i, j
  real(c_float) :: want

  options%device = c_null_ptr
  if (fusec_context_new(options, ctx) /= FUSEC_OK) stop 'no context'
  call check(fusec_graph_new(ctx, graph))
  shape(1) = fusec_sym(graph, 'n' // c_null_char)
  shape(2) = fusec_sym(graph, 'm' // c_null_char)
  v = fusec_input(graph, 'x' // c_null_char, FUSEC_F32, 2, shape)
  mean = fusec_mean(v, 1, axis, 1)                   ! of each column
  e = fusec_exp(fusec_neg(fusec_square(fusec_sub(v, mean))))
  call fusec_output(graph, 'y' // c_null_char, e)
  call check(fusec_compile(graph, prog))
  call fusec_graph_free(graph)

  do j = 1, m
    do i = 1, n
      x(i, j) = real(mod(i * j, 17)) / 17
    end do
  end do
  in(1)%data = c_loc(x)
  in(1)%shape = c_loc(lengths)
  in(1)%strides = c_loc(strides)
  in(1)%rank = 2
  in(1)%dtype = FUSEC_F32
  out = in
  out(1)%data = c_loc(y)
  call check(fusec_run(prog, 1, in, 1, out))

  want = maxval(abs(y - exp(-(x - spread(sum(x, 1) / n, 1, n))**2)))
  print '(a, i0, a, es8.1)', 'kernels: ', fusec_kernel_count(prog), ', largest difference ', want
  call fusec_program_free(prog)
  call fusec_context_free(ctx)
  if (.not. want < 1e-5) stop 1

contains

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == FUSEC_OK) return
    print '(a)', fusec_string(fusec_message(ctx))
    stop 2
  end subroutine
end program
