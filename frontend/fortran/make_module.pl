#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# make_module.pl - writes the Fortran module `fusec`: every function, struct and constant of the C interface by bind(C), from
# build/fusec.json.
#
#     perl make_module.pl build/fusec.json build/fortran/fusec.f90
#
# A pointer to one thing that C may get as NULL is an optional argument. Strings end with c_null_char. Handles are type(c_ptr).
use strict;
use warnings;
use JSON::PP;

my ($from, $to) = @ARGV;
open my $in, '<', $from or die "$from: $!\n";
my $api = decode_json(do { local $/; <$in> });
open my $out, '>', $to or die "$to: $!\n";

my %kind = (
    int      => 'integer(c_int)',     unsigned => 'integer(c_int)',     int32_t => 'integer(c_int32_t)',
    uint32_t => 'integer(c_int32_t)', int64_t  => 'integer(c_int64_t)', uint64_t => 'integer(c_int64_t)',
    size_t   => 'integer(c_size_t)',  double   => 'real(c_double)',     char    => 'character(kind=c_char)',
);
my %struct   = map { $_->{name} => 1 } @{ $api->{structs} };
my %callback = map { $_->{name} => 1 } @{ $api->{callbacks} };
$kind{ $_->{name} } = 'integer(c_int)' for grep { $_->{name} ne '' } @{ $api->{enums} };
$kind{fusec_status} = 'integer(c_int)';
$kind{$_} = "type($_)" for keys %struct;

# A type of C that is no pointer to known things: what comes by value, or as a field or result.
sub plain {
    my ($type) = @_;
    return 'type(c_funptr)' if $type =~ /\(/ || $callback{$type};
    return 'type(c_ptr)'    if $type =~ /\*/;
    $type =~ s/^const //;
    return $kind{$type} // die "a type of C that is not known: $type\n";
}

# The declaration of an argument.
sub declared {
    my ($a) = @_;
    my ($name, $base, $array) = ($a->{name}, $a->{base}, $a->{count} ? '(*)' : '');
    return plain($a->{type}) . ", value :: $name" if !$a->{pointers} || $base eq 'function';
    if ($a->{pointers} == 2) {
        my $way = $a->{direction} eq 'out' ? 'out' : 'in';
        return "type(c_ptr), intent($way), optional :: $name$array";
    }
    my $known = $kind{$base};
    return "type(c_ptr), value :: $name" if !$known || $base eq 'void' || ($base eq 'char' && $a->{type} !~ /^const/);
    return "$known, intent(in) :: $name(*)" if $base eq 'char';
    my $way = $a->{direction} eq 'in' ? 'in' : 'inout';
    return "$known, intent($way), optional :: $name$array";
}

sub comment {
    my ($text, $indent) = @_;
    my ($line, @lines) = ('');
    for my $word (split /\s+/, $text // '') {
        if (length("$line $word") > 100) { push @lines, $line; $line = '' }
        $line .= ($line eq '' ? '' : ' ') . $word;
    }
    push @lines, $line if $line ne '';
    return join '', map {"$indent! $_\n"} @lines;
}

print $out "! fusec.f90 - made from include/fusec by make_module.pl.\nmodule fusec\n  use, intrinsic :: iso_c_binding\n",
    "  implicit none\n  public\n\n";
# Capitals are no difference in Fortran: a constant that is called as a function or a type gets a _ behind it.
my %taken = map { $_->{name} => 1 } @{ $api->{functions} }, @{ $api->{structs} }, @{ $api->{opaque} };
for my $e (@{ $api->{enums} }) {
    for my $v (@{ $e->{values} }) {
        my $name = $v->{name} . ($taken{ lc $v->{name} } ? '_' : '');
        print $out "  integer(c_int), parameter :: $name = $v->{value}\n";
    }
}
for my $s (@{ $api->{statuses} }) {
    my $name = $s->{constant} . ($taken{ lc $s->{constant} } ? '_' : '');
    print $out "  integer(c_int), parameter :: $name = $s->{number} ! $s->{doc}\n";
}
for my $c (@{ $api->{constants} }) {
    my $value = $c->{value} =~ /^-9223/ ? '-huge(0_c_int64_t) - 1_c_int64_t' : $c->{value};
    my $type  = $c->{value} =~ /^-9223/ ? 'c_int64_t'                       : 'c_int';
    print $out "  integer($type), parameter :: $c->{name} = $value\n";
}
for my $s (sort { ($a->{name} eq 'fusec_call_desc') <=> ($b->{name} eq 'fusec_call_desc') } @{ $api->{structs} }) {
    print $out "\n", comment($s->{doc}, '  '), "  type, bind(C) :: $s->{name}\n";
    for my $f (@{ $s->{fields} }) {
        my $length = $f->{length} ? "($f->{length})" : '';
        my $type = plain($f->{type});
        my $start = $type eq 'type(c_ptr)' ? ' = c_null_ptr' : $type eq 'type(c_funptr)' ? ' = c_null_funptr'
            : $type =~ /^type|^character/ ? '' : $f->{name} eq 'size' && $s->{begins_with_size} ? " = $s->{bytes}" : ' = 0';
        print $out "    $type :: $f->{name}$length$start\n";
    }
    print $out "  end type\n";
}
print $out "\n  interface\n";
for my $f (@{ $api->{functions} }) {
    my $args   = join ', ', map { $_->{name} } @{ $f->{arguments} };
    my $void   = $f->{returns} eq 'void';
    my $head   = $void ? 'subroutine' : 'function';
    my $result = $void ? '' : ' result(r_)';
    print $out "\n", comment($f->{doc}, '    '), "    $head $f->{name}($args) &\n        bind(C)$result\n      import\n";
    print $out '      ', declared($_), "\n" for @{ $f->{arguments} };
    print $out '      ', plain($f->{returns}), " :: r_\n" if !$void;
    print $out "    end $head\n";
}
print $out <<'END';
  end interface

contains

  ! The text at a pointer of C.
  function fusec_string(p) result(text)
    type(c_ptr), intent(in) :: p
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: c(:)
    integer :: n, i
    text = ''
    if (.not. c_associated(p)) return
    call c_f_pointer(p, c, [65536])
    do n = 0, 65534
      if (c(n + 1) == c_null_char) exit
    end do
    allocate(character(len=n) :: text)
    do i = 1, n
      text(i:i) = c(i)
    end do
  end function
end module
END
close $out or die "$to: $!\n";
