# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# fusec.t - the package next to Perl's own arithmetic.
use strict;
use warnings;
use Test::More;

use Fusec;

my $source = $ENV{FUSEC_SOURCE} // '.';

# Equal numbers in lists of one form, to so many parts of 2**52.
sub near {
    my ($got, $want, $ulps, $name) = @_;
    my @got  = map { ref $_ ? @$_ : $_ } ref $got->list ? @{ $got->list } : $got->list;
    my @want = map { ref $_ ? @$_ : $_ } ref $want      ? @$want          : $want;
    my $wrong = @got != @want;
    for my $i (0 .. $#want) { $wrong ||= abs($got[$i] - $want[$i]) > $ulps * 2**-52 * abs $want[$i] }
    ok !$wrong, $name or diag "$got, but @want";
}

sub fails {
    my ($code, $slug, $name) = @_;
    ok !eval { $code->(); 1 }, $name;
    like $@, qr/\[$slug\]|$slug/, "$name: its message";
}

my @rows = ([ 0.5, 1, 2 ], [ -3, 4, 5.5 ]);
my @flat = map {@$_} @rows;
my $x    = Fusec->array(\@rows);

is_deeply [ $x->shape ], [ 2, 3 ], 'shape';
is $x->dtype, 'f64', 'dtype';
is_deeply $x->list, \@rows, 'numbers come back';
is "$x", '[[0.5, 1, 2], [-3, 4, 5.5]]', 'as text';
for my $dtype (qw(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 bool)) {
    is_deeply(Fusec->array([ 0, 1, 1 ], $dtype)->list, [ 0, 1, 1 ], "$dtype comes back");
}

# operators
near $x + 1,      [ map { $_ + 1 } @flat ],         0, 'a number behind';
near 1 - $x,      [ map { 1 - $_ } @flat ],         0, 'a number before';
near $x / $x,     [ map {1} @flat ],                0, 'two arrays';
near -$x * 2,     [ map { -$_ * 2 } @flat ],        0, 'minus';
near $x**2,       [ map { $_**2 } @flat ],          0, 'a power';
near abs($x),     [ map { abs $_ } @flat ],         0, 'abs';
near sin($x),     [ map { sin $_ } @flat ],         2, 'sin';
near exp($x),     [ map { exp $_ } @flat ],         2, 'exp';
near atan2($x, 2), [ map { atan2 $_, 2 } @flat ],   2, 'atan2';
near $x > 1,      [ map { $_ > 1 ? 1 : 0 } @flat ], 0, 'a comparison';
near(($x > 1)->where($x, 0), [ map { $_ > 1 ? $_ : 0 } @flat ], 0, 'where');
near $x + Fusec->array([ 10, 20, 30 ]), [ 10.5, 21, 32, 7, 24, 35.5 ], 0, 'rows broadcast';
my $y = $x;
$y += 1;
near $x, \@rows, 0, '+= changes no other name';
near(Fusec->array([ 1, 2, 3 ], 'i32') * 2,   [ 2, 4, 6 ],       0, 'integers stay integers');
is((Fusec->array([ 1, 2 ], 'i32') * 2)->dtype, 'i32', '... of their dtype');
near(Fusec->array([ 1, 2, 3 ], 'i32') * 0.5, [ 0.5, 1, 1.5 ], 0, 'and fractions make f64');
near(Fusec->array([ 6, 7 ], 'u8') & 3, [ 2, 3 ], 0, 'bits');

# reductions and what moves elements
near $x->sum, 10, 0, 'the sum of all';
near $x->sum(axis => 0), [ -2.5, 5, 7.5 ], 0, 'along an axis';
near $x->max(axis => -1), [ 2, 5.5 ], 0, 'the largest of each row';
is_deeply [ $x->mean(axis => [ 0, 1 ], keepdims => 1)->shape ], [ 1, 1 ], 'axes that are kept';
near $x->argmax(axis => 1), [ 2, 2 ], 0, 'where it is';
near $x->cumsum, [ 0.5, 1.5, 3.5, -3, 1, 6.5 ], 0, 'prefixes';
near $x->transpose, [ 0.5, -3, 1, 4, 2, 5.5 ], 0, 'transposed';
near $x->matmul($x->transpose), [ 5.25, 13.5, 13.5, 55.25 ], 0, 'a product';
near $x->reshape(6), \@flat, 0, 'reshaped';
near $x->take(Fusec->array([ 2, 0 ], 'i64'), 1), [ 2, 0.5, 5.5, -3 ], 0, 'columns by number';

# strings
my $packed = pack 'f*', 1 .. 6;
my $p = Fusec->packed($packed, 'f32', 2, 3);
substr($packed, 0, 4) = pack 'f', 100;
near $p, [ 1 .. 6 ], 0, 'a string that is changed later';
is(($p * 2)->packed, pack('f*', 2, 4, 6, 8, 10, 12), 'packed');

# the language
near(Fusec->evaluate('x > 0 ? x : a*expm1(x)', x => $x, a => 0.5), [ 0.5, 1, 2, 0.5 * (exp(-3) - 1), 4, 5.5 ], 4, 'evaluate');
my ($sum, $twice) = Fusec->evaluate_all(2, '(sum(x), x*2)', x => $x);
near $sum, 10, 0, 'two results';
near $twice, [ map { 2 * $_ } @flat ], 0, '... the second one';
my $softmax = Fusec->load("$source/examples/softmax.fuse");
near $softmax->($x)->sum(axis => 1), [ 1, 1 ], 4, 'a file of the language';
near(Fusec->parse('def twice(x) = x*2')->($x), [ map { 2 * $_ } @flat ], 0, 'a text of the language');

# nothing is computed before it is looked at; one structure is planned once
my $lazy = sin($x) + 1;
ok $lazy->depth > 0, 'nothing is computed yet';
my $before = Fusec::counters()->{plans};
near $x * $_ - 1, [ map { $_ - 1 } map { my $k = $_; $k } @{ ($x * $_)->reshape(6)->list } ], 0, "times $_" for 3 .. 5;
ok Fusec::counters()->{plans} <= 2 + $before + 1, 'planned once';

# mistakes
fails sub { $x + Fusec->array([ 1, 2 ]) }, 'shape-mismatch', 'shapes';
fails sub { $x + Fusec->array([ 1, 2, 3 ], 'f32') }, 'dtype-mismatch', 'dtypes';
fails sub { Fusec->evaluate('x +', x => 1) }, 'syntax', 'syntax';
fails sub { Fusec->evaluate('x + nosuch', x => 1) }, 'missing-input', 'a name';
fails sub { Fusec->load('/nosuch.fuse') }, 'io', 'a file';
fails sub { Fusec->array([ [ 1, 2 ], [3] ]) }, 'not equally long', 'ragged lists';
fails sub { Fusec->packed('abc', 'f32', 1) }, 'the shape needs 4', 'too few bytes';
fails sub { Fusec->array([1], 'nosuch') }, 'nosuch', 'a dtype';
fails sub { $x + 'three' }, 'is no number', 'a string';
fails sub { $x ? 1 : 0 }, 'neither true nor false', 'truth';
fails sub { Fusec::_op('nosuch', {}) }, 'no operation nosuch', 'an operation';
fails sub { Fusec::_op('sin', {}, 3) }, 'is expected', 'no array';

SKIP: {
    skip 'PDL is not installed', 3 if !eval { require PDL; PDL->import; 1 };
    my $piddle = PDL->sequence(3, 2);
    my $q = Fusec->from_pdl($piddle);
    is_deeply [ $q->shape ], [ 2, 3 ], 'a piddle';
    near $q, [ 0 .. 5 ], 0, '... its elements';
    is((($q * 2)->pdl - $piddle * 2)->abs->sum, 0, '... and back');
}

done_testing;
