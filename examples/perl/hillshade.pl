#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# hillshade.pl - relief shading of an elevation model, as a picture in PGM.
#
#     perl -Ibuild/perl/lib examples/perl/hillshade.pl [shade.pgm]
use strict;
use warnings;
use FindBin;
use Fusec;

open my $file, '<:raw', "$FindBin::Bin/../data/elevation.npy" or die "elevation.npy: $!\n";
read $file, my $head, 10;
read $file, my $text, unpack 'x8 v', $head;
my ($height, $width) = $text =~ /\((\d+), (\d+)\)/ or die "no shape in the file\n";
my $z = Fusec->packed(do { local $/; <$file> }, 'i16', $height, $width);

my $hill  = Fusec->load("$FindBin::Bin/../hillshade.fuse");
my $shade = $hill->($z);
my $grey  = ($shade * 255)->cast('u8');                     # computes nothing
my ($rows, $columns) = $grey->shape;
my $mean = $shade->mean->list;

printf "%d x %d places, %.3f on average\n", $rows, $columns, $mean;
if (@ARGV) {
    open my $out, '>:raw', $ARGV[0] or die "$ARGV[0]: $!\n";
    print $out "P5\n$columns $rows\n255\n", $grey->packed;
    close $out or die "$ARGV[0]: $!\n";
}
exit !($mean > 0 && $mean < 1);
