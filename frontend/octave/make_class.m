## SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
## make_class.m - writes the class file fusec.m of the Octave package: what stands in class.m.in, and a
## method for each operation of build/fusec.json that is not written there by hand.
##
##     octave-cli make_class.m build/fusec.json frontend/octave/class.m.in build/octave/fusec.m

function name = octave_name (name)
  ## Octave's names of what fusec calls otherwise.
  names = struct ("add", "plus", "sub", "minus", "mul", "times", "div", "rdivide", "pow", "power", ...
                  "neg", "uminus", "positive", "uplus", "logical_and", "and", "logical_or", "or", ...
                  "logical_not", "not", "logical_xor", "xor", "trunc", "fix", "fmod", "rem", ...
                  "tgamma", "gamma", "lgamma", "gammaln", "log", "log", "bit_and", "bitand", ...
                  "bit_or", "bitor", "bit_xor", "bitxor", "bit_not", "bitcmp");
  if (isfield (names, name))
    name = names.(name);
  endif
endfunction

function kind = kind_of (op)
  if (any (strcmp (op.name, {"div", "pow"})))
    kind = "n";
  elseif (strcmp (op.gives, "bool"))
    kind = "c";
  elseif (strcmp (op.takes, "bool"))
    kind = "b";
  elseif (strncmp (op.takes, "bool,", 5))
    kind = "s";
  elseif (strncmp (op.takes, "floats", 6))
    kind = "f";
  elseif (strncmp (op.takes, "integers", 8))
    kind = "i";
  else
    kind = "n";
  endif
endfunction

function text = method (op)
  operands = {"x", "x, y", "x, y, z"}{op.operands};
  name = octave_name (op.name);
  if (op.reduction)
    text = sprintf (["    function r = %s (x, dim)\n      ## %s\n      if (nargin < 2) dim = first (x); endif\n", ...
                     "      r = fold (\"%s\", dim, x);\n    endfunction\n"], name, op.doc, op.name);
  else
    raw = strjoin (strcat ("raw (", strsplit (operands, ", "), ")"), ", ");
    text = sprintf ("    function r = %s (%s)\n      ## %s\n      r = fusec (__fusec__ (\"map\", \"%s\", \"%s\", %s));\n    endfunction\n", ...
                    name, operands, op.doc, op.name, kind_of (op), raw);
  endif
endfunction

arguments = argv ();
tables = jsondecode (fileread (arguments{1}));
by_hand = fileread (arguments{2});
text = "";
for op = tables.operations'
  written = regexp (by_hand, ["function .*= " octave_name(op.name) " \\("], "once", "dotexceptnewline");
  if (isempty (written))
    text = [text method(op)];
  endif
endfor
file = fopen (arguments{3}, "w");
fputs (file, strrep (by_hand, "    ## OPERATIONS\n", text));
fclose (file);
