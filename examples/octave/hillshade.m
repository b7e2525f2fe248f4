## SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
## hillshade.m - relief shading of an elevation model: by a program of the language, and by matrices.
##
##     octave-cli --path build/octave examples/octave/hillshade.m [shade.png]
folder = fileparts (mfilename ("fullpath"));
file = fopen (fullfile (folder, "..", "data", "elevation.npy"), "r", "ieee-le");
head = fread (file, 10, "uint8=>uint8");
text = fread (file, [1, double(head(9)) + 256 * double(head(10))], "uint8=>char");
n = cellfun (@str2double, regexp (text, '\((\d+), (\d+)\)', "tokens"){1});
z = fread (file, fliplr (n), "int16=>int16")';   # its rows run from north to south
fclose (file);

hill = fusec.load (fullfile (folder, "..", "hillshade.fuse"));
shade = hill (z);

up = single (z) * 2;   # the same with matrices: what is computed on the way is not stored
east = (fusec (up(2:end-1, 3:end)) - up(2:end-1, 1:end-2)) / (2 * 92.6 * cosd (36.5));
north = (fusec (up(1:end-2, 2:end-1)) - up(3:end, 2:end-1)) / (2 * 92.6);
light = [sind(315) * cosd(40), cosd(315) * cosd(40), sind(40)];
again = (light(3) - light(1) * east - light(2) * north) ./ sqrt (1 + east .^ 2 + north .^ 2);
again = min (max (again, 0), 1);

printf ("%d x %d places, %.3f on average, %.1g apart\n", rows (shade), columns (shade), ...
        mean (shade(:)), max (abs (shade(:) - gather (again)(:))));
arguments = argv ();
if (! isempty (arguments)) imwrite (uint8 (255 * shade), arguments{1}); endif
if (max (abs (shade(:) - gather (again)(:))) > 1e-5) exit (1); endif
