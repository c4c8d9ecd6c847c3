# Measures one TCP handshake: handshake.pl ADDRESS PORT TIMEOUT_MS
#
# Prints `ok MS`, `refused MS`, `timeout` or `unreachable`; exits with 1 when it cannot measure. The round-trip time of an
# established connection comes from the kernel (TCP_INFO, linux/tcp.h), so that load on this machine does not add to it.
# Written in Perl, because Node cannot read socket options; it uses only modules of perl-base, which every Debian has.
use strict;
use warnings;
use Errno qw(EINPROGRESS ECONNREFUSED ECONNRESET ETIMEDOUT EHOSTUNREACH ENETUNREACH EHOSTDOWN ENETDOWN EACCES EPERM);
use POSIX ();
use Socket qw(AF_INET AF_INET6 SOCK_STREAM IPPROTO_TCP SOL_SOCKET SO_ERROR inet_pton pack_sockaddr_in pack_sockaddr_in6);

# System call numbers of clock_gettime by architecture (asm/unistd.h). perl-base has no clock finer than a second.
my %CLOCK_GETTIME = (x86_64 => 228, aarch64 => 113);
my $CLOCK_MONOTONIC = 1;
my $TCP_INFO = 11;
# Byte offset of tcpi_rtt, the round-trip time in microseconds, in struct tcp_info (linux/tcp.h).
my $RTT_OFFSET = 68;

my ($address, $port, $timeout_ms) = @ARGV;
my $clock = $CLOCK_GETTIME{(POSIX::uname())[4]} or exit 1;

sub now_ms {
  my $time = "\0" x 16;
  syscall($clock, $CLOCK_MONOTONIC, $time) == 0 or exit 1;
  my ($seconds, $nanoseconds) = unpack 'qq', $time;
  return $seconds * 1e3 + $nanoseconds / 1e6;
}

my $family = $address =~ /:/ ? AF_INET6 : AF_INET;
my $bytes = inet_pton($family, $address) // exit 1;
my $peer = $family == AF_INET6 ? pack_sockaddr_in6($port, $bytes) : pack_sockaddr_in($port, $bytes);

socket my $socket, $family, SOCK_STREAM | POSIX::O_NONBLOCK(), IPPROTO_TCP or exit 1;
my $started = now_ms();
my $error = connect($socket, $peer) ? 0 : $! + 0;
if ($error == EINPROGRESS) {
  vec(my $writable = '', fileno $socket, 1) = 1;
  if (!select undef, $writable, undef, $timeout_ms / 1e3) { print "timeout\n"; exit }
  $error = unpack 'i', getsockopt $socket, SOL_SOCKET, SO_ERROR;
}
my $elapsed = now_ms() - $started;

if ($error == 0) {
  my $info = getsockopt $socket, IPPROTO_TCP, $TCP_INFO;
  my $rtt = defined $info && length $info >= $RTT_OFFSET + 4 ? unpack "x$RTT_OFFSET L", $info : 0;
  printf "ok %.3f\n", $rtt > 0 ? $rtt / 1e3 : $elapsed;
} elsif ($error == ECONNREFUSED || $error == ECONNRESET) {
  printf "refused %.3f\n", $elapsed;
} elsif ($error == ETIMEDOUT) {
  print "timeout\n";
} elsif (grep { $error == $_ } EHOSTUNREACH, ENETUNREACH, EHOSTDOWN, ENETDOWN, EACCES, EPERM) {
  print "unreachable\n";
} else {
  exit 1;
}
