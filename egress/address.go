package egress

import "net/netip"

// A block is a range of addresses that nobody on the public web has.
type block struct {
	prefix netip.Prefix
	reason string
}

// blocks are those of the IANA registries of special-purpose addresses that are
// of no use to a client of the web, and the addresses outside of them where cloud
// machines find their own keys. IPv6 rows outside of 2000::/3, where the public
// web is, only say more than that.
var blocks = []block{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this host"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address of a provider's inner network"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("168.63.129.16/32"), "an address of cloud metadata"}, // Azure
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("192.80.8.124/32"), "an address of cloud metadata"}, // Packet
	{netip.MustParsePrefix("192.88.99.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address of benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"}, // and broadcast
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"}, // and Teredo
	{netip.MustParsePrefix("2001:db8::/32"), "an address of documentation"},
	{netip.MustParsePrefix("2002::/16"), "an address that holds another (6to4)"},
	{netip.MustParsePrefix("3fff::/20"), "an address of documentation"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	nat64         = netip.MustParsePrefix("64:ff9b::/96")
)

// unreachable says why an address is not one of the public web, "" if it is one.
// Networks without IPv4 reach IPv4 hosts through NAT64: there the address within
// decides.
func unreachable(addr netip.Addr) string {
	addr = addr.Unmap().WithZone("")
	if nat64.Contains(addr) {
		bytes := addr.As16()
		addr = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for _, b := range blocks {
		if b.prefix.Contains(addr) {
			return b.reason
		}
	}
	if addr.Is6() && !globalUnicast.Contains(addr) {
		return "not an address of the public web"
	}
	return ""
}
