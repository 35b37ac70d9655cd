package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// A grant is a name or a range of addresses, with a port or for all of them.
type grant struct {
	host  string       // "" where a range is meant
	addrs netip.Prefix // not valid where a name is meant
	port  string       // "" means all
}

func parseGrant(entry string) (grant, error) {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return grant{addrs: prefix.Masked()}, nil
	}
	host, port := strings.Trim(entry, "[]"), ""
	if _, err := netip.ParseAddr(host); err != nil && strings.Contains(entry, ":") {
		if host, port, err = net.SplitHostPort(entry); err != nil {
			return grant{}, fmt.Errorf("grant %q: %w", entry, err)
		}
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return grant{}, fmt.Errorf("grant %q: not a port: %s", entry, port)
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		addr = addr.Unmap().WithZone("")
		return grant{addrs: netip.PrefixFrom(addr, addr.BitLen()), port: port}, nil
	}
	if host == "" || strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
		return grant{}, fmt.Errorf("grant %q: not a host name, an address or a range of addresses", entry)
	}
	return grant{host: canonicalHost(host), port: port}, nil
}

func canonicalHost(host string) string {
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func (g *guard) grantsName(host, port string) bool {
	for _, granted := range g.grants {
		if granted.host != "" && granted.host == host && (granted.port == "" || granted.port == port) {
			return true
		}
	}
	return false
}

func (g *guard) grantsAddress(addr netip.Addr, port string) bool {
	for _, granted := range g.grants {
		if granted.addrs.Contains(addr.WithZone("")) && (granted.port == "" || granted.port == port) {
			return true
		}
	}
	return false
}
