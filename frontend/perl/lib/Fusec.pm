# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
package Fusec;

use strict;
use warnings;
use Carp ();
use XSLoader;

our $VERSION = '0.1.0';
our @CARP_NOT = ('Fusec::Array');
XSLoader::load('Fusec', $VERSION);

# How elements are packed; bf16 and f16 have no letter.
my %letter = (bool => 'C', i8 => 'c', i16 => 's', i32 => 'l', i64 => 'q', u8 => 'C', u16 => 'S', u32 => 'L',
    u64 => 'Q', f32 => 'f', f64 => 'd', c64 => 'f', c128 => 'd');

sub _letter {
    my ($dtype) = @_;
    return $letter{$dtype} // Carp::croak "fusec: Perl has no numbers of $dtype; use packed strings";
}

# The lengths of nested lists, and their numbers one after the other.
sub _flat {
    my ($x, $depth, $shape, $out) = @_;
    if (!ref $x) {
        Carp::croak "fusec: the lists are not equally deep" if $depth != @$shape;
        push @$out, $x;
        return;
    }
    Carp::croak "fusec: a list of numbers is expected" if ref $x ne 'ARRAY';
    Carp::croak "fusec: the lists are not equally long" if $depth >= @$shape || @$x != $shape->[$depth];
    _flat($_, $depth + 1, $shape, $out) for @$x;
}

sub array {
    my ($class, $x, $dtype) = @_;
    my (@shape, @flat);
    $dtype //= 'f64';
    for (my $e = $x; ref $e eq 'ARRAY'; $e = $e->[0]) { push @shape, scalar @$e }
    _flat($x, 0, \@shape, \@flat);
    return _from(pack(_letter($dtype) . '*', @flat), $dtype, \@shape);
}

sub packed {
    my ($class, $bytes, $dtype, @shape) = @_;
    return _from($bytes, $dtype, \@shape);
}

# A piddle: its first axis is the one that lies together, so the axes are in the other order.
my %of_pdl = (double => 'f64', float => 'f32', longlong => 'i64', long => 'i32', short => 'i16', ushort => 'u16',
    byte => 'u8');

sub from_pdl {
    my ($class, $p) = @_;
    my $dtype = $of_pdl{ $p->type } // Carp::croak "fusec: no dtype for " . $p->type;
    my $dense = $p->copy;
    return _from(${ $dense->get_dataref }, $dtype, [ reverse $dense->dims ]);
}

sub evaluate {
    my ($class, $text, %values) = @_;
    my @names = sort keys %values;
    return (_evaluate(undef, $text, \@names, [ @values{@names} ], 1))[0];
}

# A text with several results, "(sum(x), x*2)".
sub evaluate_all {
    my ($class, $count, $text, %values) = @_;
    my @names = sort keys %values;
    return _evaluate(undef, $text, \@names, [ @values{@names} ], $count);
}

sub _definition {
    my ($text, $name) = @_;
    $name //= ($text->names)[-1];
    return sub {
        my @names = map {"a$_"} 1 .. @_;
        return (_evaluate($text, "$name(" . join(', ', @names) . ')', \@names, [@_], 1))[0];
    };
}

sub load {
    my ($class, $path, $name) = @_;
    return _definition(_parse('file', $path), $name);
}

sub parse {
    my ($class, $source, $name) = @_;
    return _definition(_parse('text', $source), $name);
}

package Fusec::Array;

our @CARP_NOT = ('Fusec');

use Scalar::Util qw(looks_like_number);

# Operands of one operation: numbers of Perl take the dtype of the arrays, or make f64 of integers that
# they are no number of.
sub _operands {
    my @x = @_;
    my ($first) = grep { ref && $_->dtype ne 'bool' } @x;
    my ($any) = grep {ref} @x;
    $first //= $any // Carp::croak "fusec: an array is expected";
    my $dtype = $first->dtype;
    for (grep { !ref } @x) {
        Carp::croak "fusec: '" . ($_ // 'undef') . "' is no number" if !looks_like_number($_);
        $dtype = 'f64' if $dtype =~ /^[iub]/ && ($_ != CORE::int($_) || CORE::abs($_) >= 2**63);
        $dtype = 'i64' if $dtype eq 'bool';
    }
    for (@x) {
        $_ = ref ? ($_->dtype ne $dtype && $dtype eq 'f64' && $_->dtype =~ /^[iu]/ ? $_->cast('f64') : $_)
            : Fusec::_number($_ + 0, $dtype);
    }
    return @x;
}

sub _map {
    my $name = shift;
    return Fusec::_op($name, {}, _operands(@_));
}

sub _fold {
    my ($name, $x, %how) = @_;
    my $axis = delete $how{axis};
    $how{axes} = ref $axis ? $axis : [$axis] if defined $axis;
    return Fusec::_op($name, \%how, $x);
}

sub _where {
    my ($condition, @x) = @_;
    return Fusec::_op('where', {}, $condition, _operands(@x));
}

sub cast { return Fusec::_op('cast', { dtype => $_[1] }, $_[0]) }
sub matmul { return Fusec::_op('matmul', {}, $_[0], $_[1]) }
sub transpose { my ($x, @axes) = @_; return Fusec::_op('permute', @axes ? { axes => \@axes } : {}, $x) }
sub reshape { my ($x, @shape) = @_; return Fusec::_op('reshape', { shape => \@shape }, $x) }
sub take { my ($x, $i, $axis) = @_; return Fusec::_op('take', { axes => [ $axis // 0 ] }, $x, $i) }
sub sort { my ($x, $axis) = @_; return Fusec::_op('sort', { axes => [ $axis // -1 ] }, $x) }

for my $name (qw(cumsum cumprod cummin cummax)) {
    no strict 'refs';
    *$name = sub { my ($x, $axis) = @_; return Fusec::_op($name, { axes => [ $axis // -1 ] }, $x) };
}

# Nested lists; a number where there are no axes.
sub list {
    my ($x) = @_;
    my @shape = $x->shape;
    my @level = unpack Fusec::_letter($x->dtype) . '*', $x->packed;
    if ($x->dtype =~ /^c/) {
        my @pairs;
        push @pairs, [ splice @level, 0, 2 ] while @level;
        @level = @pairs;
    }
    for my $n (reverse @shape[ 1 .. $#shape ]) {
        my @next;
        push @next, [ splice @level, 0, $n ] while @level;
        @level = @next;
    }
    return @shape ? \@level : $level[0];
}

sub pdl {
    my ($x) = @_;
    require PDL;
    my ($type) = grep { $of_pdl{$_} eq $x->dtype } keys %of_pdl;
    Carp::croak 'fusec: PDL has no type for ' . $x->dtype if !defined $type;
    my $p = PDL->zeroes(PDL->can($type)->(), reverse $x->shape);
    ${ $p->get_dataref } = $x->packed;
    $p->upd_data;
    return $p;
}

sub _text {
    my ($x) = @_;
    return ref $x eq 'ARRAY' ? '[' . join(', ', map { _text($_) } @$x) . ']' : $x;
}

sub _turned {
    my $name = shift;
    return sub { _map($name, $_[2] ? @_[ 1, 0 ] : @_[ 0, 1 ]) };
}

use overload
    (map { $_->[0] => _turned($_->[1]) } [ '+', 'add' ], [ '-', 'sub' ], [ '*', 'mul' ], [ '/', 'div' ], [ '%', 'mod' ],
        [ '**', 'pow' ], [ '<', 'lt' ], [ '<=', 'le' ], [ '>', 'gt' ], [ '>=', 'ge' ], [ '==', 'eq' ], [ '!=', 'ne' ],
        [ '&', 'bit_and' ], [ '|', 'bit_or' ], [ '^', 'bit_xor' ], [ '<<', 'shl' ], [ '>>', 'shr' ], [ 'atan2', 'atan2' ]),
    (map { my $op = $_->[1]; $_->[0] => sub { _map($op, $_[0]) } } [ 'neg', 'neg' ], [ 'abs', 'abs' ], [ 'sin', 'sin' ],
        [ 'cos', 'cos' ], [ 'exp', 'exp' ], [ 'log', 'log' ], [ 'sqrt', 'sqrt' ], [ 'int', 'trunc' ], [ '~', 'bit_not' ]),
    'x' => sub { Carp::croak 'fusec: x repeats strings; use matmul' },
    'bool' => sub { Carp::croak 'fusec: an array is neither true nor false; use any or all' },
    '""' => sub { _text($_[0]->list) },
    '=' => sub { $_[0] };

require Fusec::Operations;

1;
__END__

=head1 NAME

Fusec - arrays that are computed when they are looked at, in as few kernels as possible

=head1 SYNOPSIS

    use Fusec;

    my $x = Fusec->array([[0, 1, 2], [3, 4, 5]]);      # f64; another dtype comes second
    my $y = sqrt(sin($x)**2 + 1);                      # computes nothing
    print $y->sum(axis => 0), "\n";                    # one kernel runs here

    my $p = Fusec->packed($bytes, 'f32', 600, 512);    # a packed string, not copied
    my $z = Fusec->evaluate('x > 0 ? x : a*expm1(x)', x => $x, a => 0.5);
    my ($sum, $twice) = Fusec->evaluate_all(2, '(sum(x), x*2)', x => $x);
    my $softmax = Fusec->load('softmax.fuse');         # a definition as a function
    my $rows = $softmax->($x)->list;

=head1 ARRAYS

C<array> takes nested lists, C<packed> a string of elements in C order, C<from_pdl> a piddle, whose first axis is our last.
C<list>, C<packed> and C<pdl> give them back; C<shape>, C<dtype>; C<depth> counts the operations that wait. Operators are
elementwise and broadcast; numbers take the dtype of the array, others are cast (C<cast>). C<~> and C<&> are of bits, on bool
arrays of truth. Also: C<matmul>, C<transpose>, C<reshape>, C<take>, C<sort>, C<cumsum> and its like, and all operations of
L<Fusec::Operations>.

Mistakes die with the message of fusec, the name of the error, C<[shape-mismatch]>, and the caller's place.

=cut
