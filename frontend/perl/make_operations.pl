#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make_operations.pl - writes lib/Fusec/Operations.pm: a method of Fusec::Array, and its documentation, for each operation of
# build/fusec.json.
#
#     perl make_operations.pl build/fusec.json build/perl/lib/Fusec/Operations.pm
use strict;
use warnings;
use JSON::PP;

my ($from, $to) = @ARGV;
open my $in, '<', $from or die "$from: $!\n";
my $tables = decode_json(do { local $/; <$in> });
open my $out, '>', $to or die "$to: $!\n";

print $out "package Fusec::Operations;\n# Made from ir/ops.def by make_operations.pl.\n\npackage Fusec::Array;\n\nuse strict;\n",
    "use warnings;\n\n";
for my $op (@{ $tables->{operations} }) {
    my $call = $op->{reduction} ? '_fold' : $op->{name} eq 'where' ? '_where' : '_map';
    my $first = $call eq '_where' ? '' : "'$op->{name}', ";
    print $out "sub $op->{name} { return $call($first\@_) }\n";
}
print $out "sub logsumexp { return _fold('logsumexp', \@_) }\n\n1;\n__END__\n\n=head1 NAME\n\n",
    "Fusec::Operations - methods of Fusec::Array\n\n=head1 METHODS\n\nOf reductions C<axis> is a number or a list of them, all ",
    "without it; C<keepdims =E<gt> 1> keeps the axes.\n\n=over\n\n";
for my $op (@{ $tables->{operations} }) {
    my $arguments = $op->{reduction} ? 'axis => ..., keepdims => ...' : join ', ', (qw(y z))[ 0 .. $op->{operands} - 2 ];
    (my $doc = $op->{doc}) =~ s/([<>])/$1 eq '<' ? 'E<lt>' : 'E<gt>'/ge;
    $arguments =~ s/>/E<gt>/g;
    print $out "=item \$x-E<gt>$op->{name}($arguments)\n\n$doc. Takes: $op->{takes}. Gives: $op->{gives}.\n\n";
}
print $out "=back\n\n=cut\n";
close $out or die "$to: $!\n";
