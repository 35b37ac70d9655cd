package egress

import (
	"net/netip"
	"testing"
)

// registry holds the IANA registries of special-purpose addresses (RFC 6890 and
// its updates), with what they say of each row: whether it is globally reachable.
var registry = map[string]bool{
	"0.0.0.0/8": false, "0.0.0.0/32": false, "10.0.0.0/8": false, "100.64.0.0/10": false, "127.0.0.0/8": false,
	"169.254.0.0/16": false, "172.16.0.0/12": false, "192.0.0.0/24": false, "192.0.0.0/29": false, "192.0.0.8/32": false,
	"192.0.0.9/32": true, "192.0.0.10/32": true, "192.0.0.170/32": false, "192.0.0.171/32": false, "192.0.2.0/24": false,
	"192.31.196.0/24": true, "192.52.193.0/24": true, "192.88.99.0/24": false, "192.168.0.0/16": false,
	"192.175.48.0/24": true, "198.18.0.0/15": false, "198.51.100.0/24": false, "203.0.113.0/24": false,
	"240.0.0.0/4": false, "255.255.255.255/32": false,

	"::1/128": false, "::/128": false, "::ffff:0:0/96": false, "64:ff9b::/96": true, "64:ff9b:1::/48": false, "100::/64": false,
	"100:0:0:1::/64": false, "2001::/23": false, "2001::/32": false, "2001:1::1/128": true, "2001:1::2/128": true,
	"2001:1::3/128": true, "2001:2::/48": false, "2001:3::/32": true, "2001:4:112::/48": true, "2001:10::/28": false,
	"2001:20::/28": true, "2001:30::/28": true, "2001:db8::/32": false, "2002::/16": false, "2620:4f:8000::/48": true,
	"3fff::/20": false, "5f00::/16": false, "fc00::/7": false, "fe80::/10": false,
}

// stricter are the rows that are globally reachable and refused all the same:
// nobody has a web site there.
var stricter = []string{"192.0.0.0/24", "2001::/23"}

// other ranges are in other registries: multicast, and the metadata of clouds.
var others = []string{"224.0.0.0/4", "ff00::/8", "168.63.129.16/32", "192.80.8.124/32"}

func within(addr netip.Addr, prefixes ...string) bool {
	for _, p := range prefixes {
		if netip.MustParsePrefix(p).Contains(addr) {
			return true
		}
	}
	return false
}

// public is what unreachable should say, worked out from the registries.
func public(addr netip.Addr) bool {
	bytes := addr.As16()
	if addr.Is4In6() || within(addr, "64:ff9b::/96") {
		addr = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	for row, reachable := range registry {
		if !reachable && within(addr, row) {
			return false
		}
	}
	return !within(addr, others...) && !within(addr, stricter...) && (addr.Is4() || bytes[0]>>5 == 1)
}

func TestAddressesAreClassifiedAsTheRegistriesSay(t *testing.T) {
	check := func(addr netip.Addr) {
		t.Helper()
		if got, want := unreachable(addr) == "", public(addr); addr.IsValid() && got != want {
			t.Errorf("%s: public %v, want %v (%s)", addr, got, want, unreachable(addr))
		}
	}
	rows := append([]string{}, others...)
	for row, reachable := range registry {
		rows = append(rows, row)
		if first := netip.MustParsePrefix(row).Addr(); !reachable && unreachable(first) == "" {
			t.Errorf("%s is not globally reachable, but allowed", row)
		}
	}
	for _, row := range rows {
		prefix := netip.MustParsePrefix(row)
		first, last := prefix.Addr(), lastOf(prefix)
		for _, addr := range []netip.Addr{first.Prev(), first, last, last.Next()} {
			check(addr)
			if addr.Is4() {
				check(netip.AddrFrom16(addr.As16()))
			}
		}
	}
	for _, addr := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700:4700::1111", "2a00:1450:4001::8b", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1"} {
		if reason := unreachable(netip.MustParseAddr(addr)); reason != "" {
			t.Errorf("%s is refused: %s", addr, reason)
		}
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	bytes := p.Addr().AsSlice()
	for i := p.Bits(); i < len(bytes)*8; i++ {
		bytes[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

func TestAddressesWithinAddressesAreRefused(t *testing.T) {
	for name, addr := range map[string]string{
		"mapped":             "::ffff:127.0.0.1",
		"mapped metadata":    "::ffff:a9fe:a9fe",
		"compatible":         "::127.0.0.1",
		"translated":         "::ffff:0:127.0.0.1",
		"6to4":               "2002:7f00:1::",
		"NAT64":              "64:ff9b::10.0.0.1",
		"NAT64 metadata":     "64:ff9b::a9fe:a9fe",
		"local NAT64":        "64:ff9b:1::7f00:1",
		"Teredo":             "2001:0:4136:e378:8000:63bf:80ff:fffe",
		"site-local":         "fec0::1",
		"link-local, zoned":  "fe80::1%eth0",
		"EC2 metadata":       "fd00:ec2::254",
		"GCE metadata":       "fd20:ce::254",
		"Alibaba metadata":   "100.100.100.200",
		"Oracle metadata":    "192.0.0.192",
		"Azure's wire":       "168.63.129.16",
		"IPv6 unspecified":   "::",
		"IPv6 all-nodes":     "ff02::1",
		"limited broadcast":  "255.255.255.255",
		"mapped unspecified": "::ffff:0.0.0.0",
	} {
		if unreachable(netip.MustParseAddr(addr)) == "" {
			t.Errorf("%s: %s is allowed", name, addr)
		}
	}
}

func FuzzUnreachable(f *testing.F) {
	for row := range registry {
		f.Add(netip.MustParsePrefix(row).Addr().AsSlice())
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		addr, ok := netip.AddrFromSlice(bytes)
		if !ok {
			return
		}
		allowed := unreachable(addr) == ""
		if allowed != public(addr) {
			t.Errorf("%s: allowed %v", addr, allowed)
		}
		plain := addr.Unmap()
		if allowed && (plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified()) {
			t.Errorf("%s is allowed", addr)
		}
	})
}
