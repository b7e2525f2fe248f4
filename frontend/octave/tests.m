## SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
## tests.m - the class fusec next to Octave's own functions.
##
##     octave-cli tests.m FOLDER-OF-THE-PACKAGE SOURCE-TREE
arguments = argv ();
addpath (arguments{1});
source = arguments{2};

function same (a, b, tolerance)
  if (nargin < 3) tolerance = 0; endif
  if (isa (a, "fusec")) a = gather (a); endif
  assert (class (a), class (b));
  assert (a, b, tolerance);
endfunction

function fails (id, f)
  try
    f ();
  catch e
    assert (e.identifier, id);
    return;
  end_try_catch
  error ("there was no error %s", id);
endfunction

function x = assigned (x, v)
  x(1:2) = v;
endfunction

rand ("twister", 1);
x = rand (7, 5) - 0.5;
y = rand (7, 5) + 0.5;
v = rand (7, 1);
t = rand (3, 4, 2);
fx = fusec (x);

## matrices come back as they were, whatever their class
for c = {"double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical"}
  m = feval (c{1}, round (abs (20 * x)) > 3 * strcmp (c{1}, "logical"));
  same (fusec (m), m);
endfor
same (fusec (x + 1i*y), x + 1i*y);
same (fusec (single (x + 1i*y)), single (x + 1i*y));
same (fusec (zeros (0, 3)), zeros (0, 3));
same (fusec (t), t);
assert (size (fusec (t)), [3 4 2]);
assert (size (fusec (t), 3), 2);
assert (numel (fx), 35);

## operators, broadcasting from the left
same (fx + y, x + y);
same (2 - fx .* v, 2 - x .* v);
same (v' * fx, v' * x, 1e-14);
same (fx' * fx, x' * x, 1e-14);
same (t + fusec (rand (3, 1)) * 0, t);
same (fx ./ y, x ./ y);
same (-fx .^ 2, -x .^ 2);
same (fx > 0 & fx < 0.25 | fx == y, x > 0 & x < 0.25 | x == y);
same (! (fx >= 0), ! (x >= 0));
same (reshape (fx, 5, []), reshape (x, 5, []));
same (fx(2:3, end), x(2:3, end));
same (fx(end), x(end));

## functions of the table
for f = {"sin", "cos", "tan", "exp", "expm1", "abs", "sign", "floor", "ceil", "fix", "round", "tanh", "atan", "erf", "isnan", "gamma"}
  same (feval (f{1}, 9 * fx), feval (f{1}, 9 * x), 1e-14 * max (1, max (abs (feval (f{1}, 9 * x(:))))));
endfor
same (sqrt (abs (fx)), sqrt (abs (x)));
same (hypot (fx, y), hypot (x, y), 1e-15);
same (atan2 (fx, y), atan2 (x, y), 1e-15);
same (rem (9 * fx, y), rem (9 * x, y), 1e-15);
same (round (fusec ([0.5 -0.5 2.5 0.49999999999999994])), round ([0.5 -0.5 2.5 0.49999999999999994]));

## reductions
for f = {"sum", "prod", "mean", "max", "min", "var", "std", "cumsum", "cumprod"}
  same (feval (f{1}, fx), feval (f{1}, x), 1e-14);
endfor
same (sum (fx, 2), sum (x, 2), 1e-14);
same (sum (fusec (t), 3), sum (t, 3), 1e-14);
same (sum (fx, 3), x);
same (sum (fusec (x(1, :))), sum (x(1, :)), 1e-14);
same (any (fx > 0.4), any (x > 0.4));
[m, i] = max (fx, [], 2);
[n, j] = max (x, [], 2);
same (m, n);
same (i, j);
same (max (fx, 0.1), max (x, 0.1));

## classes join as Octave joins them
same (fusec (single (x)) + y, single (x) + y, single (1e-7));
same (fusec (int8 ([100 -100 3])) * 2, int8 ([100 -100 3]) * 2);
same (fusec (int32 ([7 -7 1])) ./ int32 (2), int32 ([7 -7 1]) ./ int32 (2));
same (fusec ([true false]) + [true true], [true false] + [true true]);
same (bitand (fusec (uint8 (0:9)), 3), bitand (uint8 (0:9), 3));
same (cast (fusec ([1.5 -1.5 300]), "int8"), int8 ([1.5 -1.5 300]));

## the language
same (fusec.eval ("x > 0 ? x : a*expm1(x)", "x", x, "a", 0.5), ifelse = max (x, 0) + 0.5 * expm1 (min (x, 0)), 1e-15);
same (fusec.eval ("x - mean(x, axis=0)", struct ("x", x)), x - mean (x), 1e-15);
[s, q] = fusec.eval ("(sum(v), v*2)", "v", v);
same (s, sum (v), 1e-15);
same (q, v * 2);
same (fusec.eval ("x[1:, 0]", "x", x), x(2:end, 1));
f = fusec.load (fullfile (source, "examples", "softmax.fuse"));
e = exp (x - max (x, [], 2));
same (f (x), e ./ sum (e, 2), 1e-15);
g = fusec.parse ("def twice(x) = x*2");
same (g (fx), 2 * x);

## nothing is computed before it is looked at, and one structure is planned once
w = sin (fx) + y;
assert (depth (w) > 0);
before = fusec.counters ();
for k = 1:3
  same (fusec (k * x) .* y, k * x .* y);
endfor
assert (fusec.counters ().plans - before.plans <= 1);

## what was given stays what it was
z = x;
fz = fusec (z) + 1;
z(1) = 100;
same (fz, x + 1);

## elements are assigned to a new value; what was made before keeps its own
w = fx;
later = w * 2;
w(2, 3) = 7;
w(:, 1) = fusec (y(1:7, 1));
z = x;
z(2, 3) = 7;
z(:, 1) = y(1:7, 1);
same (w, z);
same (later, 2 * x);
same (fx, x);
w(end, :) = [];
z(end, :) = [];
same (w + 1, z + 1);
fails ("Octave:nonconformant-args", @() assigned (fx, [1 2 3]));

## mistakes
fails ("fusec:syntax", @() fusec.eval ("x +", "x", x));
fails ("fusec:missing-input", @() fusec.eval ("x + nosuch", "x", x));
fails ("fusec:shape-mismatch", @() fx + rand (2, 5));
fails ("fusec:shape-mismatch", @() fx * x);
fails ("fusec:io", @() fusec.load ("/nosuch.fuse"));
try
  fx + rand (2, 5);
catch e
  assert (! isempty (strfind (e.message, "7x5 and 2x5")));
end_try_catch
for bad = {{1}, {"a"}, struct("a", 1), sparse(1)}
  ok = false;
  try fusec (bad{1}); catch ok = true; end_try_catch
  assert (ok || ischar (bad{1}));
endfor
printf ("all is as in Octave, on %s\n", fusec.counters ().device);
