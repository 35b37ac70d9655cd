package postgres

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// IsAddress reports whether a text is the address of a database, and not the name of a file.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// options are those of an address that are not settings of the server: our own, libpq's and the pool's.
var options = []string{
	"schema", "lease", "sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslnegotiation", "sslsni", "target_session_attrs", "connect_timeout",
	"application_name", "user", "password", "passfile", "host", "port", "dbname", "service", "servicefile", "channel_binding", "require_auth", "krbspn", "krbsrvname",
	"min_protocol_version", "max_protocol_version", "options", "database", "default_query_exec_mode", "statement_cache_capacity", "description_cache_capacity",
	"pool_max_conns", "pool_min_conns", "pool_min_idle_conns", "pool_max_conn_lifetime", "pool_max_conn_lifetime_jitter", "pool_max_conn_idle_time", "pool_health_check_period", "pool_ping_timeout",
}

// usualOptions is what people are told of them.
const usualOptions = "schema, lease, sslmode, sslrootcert, target_session_attrs, connect_timeout, pool_max_conns, application_name and settings of the server such as statement_timeout"

// errNotEncoded reports an address whose parts cannot be told apart.
var errNotEncoded = errors.New("the address cannot be read: characters such as @ / : # ? and % in a user's name or a password must be percent-encoded (@ is %40, / is %2F, # is %23, % is %25)")

// The parts of an address, as libpq tells them apart: its user ends at the first @, if that is
// before the first slash.
type parts struct{ user, place, query string }

// split takes an address apart. It fails where a password is not encoded, since the rest of
// it is then taken for something else, which may be shown.
func split(address string) (p parts, err error) {
	_, rest, _ := strings.Cut(address, "://")
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		p.user, rest = rest[:i], rest[i+1:]
	}
	p.place, p.query, _ = strings.Cut(rest, "?")
	if _, err := url.PathUnescape(p.user); err != nil || strings.Contains(p.place, "@") {
		return p, errNotEncoded
	}
	for pair := range strings.SplitSeq(p.query, "&") {
		if name, _, _ := strings.Cut(pair, "="); strings.Contains(pair, "@") && !slices.Contains(options, name) {
			return p, errNotEncoded
		}
	}
	return p, nil
}

// option returns the value of one.
func (p parts) option(name string) (value string, ok bool) {
	for pair := range strings.SplitSeq(p.query, "&") {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			if plain, err := url.PathUnescape(value); err == nil {
				value = plain
			}
			return value, true
		}
	}
	return "", false
}

// Redact returns an address without its password.
func Redact(address string) string {
	scheme, _, isAddress := strings.Cut(address, "://")
	if !isAddress {
		return address
	}
	p, err := split(address)
	if err != nil || !IsAddress(address) {
		return "postgres://..." // whatever it is, it may hold a password
	}
	text := scheme + "://"
	if p.user != "" {
		user, _, hasPassword := strings.Cut(p.user, ":")
		if text += user; hasPassword {
			text += ":xxxxx"
		}
		text += "@"
	}
	text += p.place
	before := "?"
	for pair := range strings.SplitSeq(p.query, "&") {
		if p.query == "" {
			break
		}
		if name, _, _ := strings.Cut(pair, "="); strings.Contains(name, "password") || strings.Contains(name, "%") {
			pair = name + "=xxxxx"
		}
		text, before = text+before+pair, "&"
	}
	return text
}

// Password returns the one that an address has, for those who keep it out of logs.
func Password(address string) string {
	p, err := split(address)
	if err != nil { // it is as much as may be one
		_, rest, _ := strings.Cut(address, "://")
		rest = rest[:max(strings.LastIndexByte(rest, '@'), 0)]
		_, password, _ := strings.Cut(rest, ":")
		return password
	}
	if _, password, ok := strings.Cut(p.user, ":"); ok {
		if plain, err := url.PathUnescape(password); err == nil {
			return plain
		}
		return password
	}
	password, _ := p.option("password")
	return password
}

// optionOf returns the value of an option of an address that can be read, empty if it has none.
func optionOf(address, name string) string {
	p, _ := split(address)
	value, _ := p.option(name)
	return value
}

// quoted is what an error shows of an address.
var quoted = regexp.MustCompile(`"[^"]*"`)

// reason returns why an address cannot be read, without the address or any part of it.
func reason(err error) string {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		text := e.Error()
		return quoted.ReplaceAllString(text[strings.LastIndex(text, "`: ")+len("`: "):], "a value")
	}
	return "it cannot be read"
}

// hosts returns all that a configuration names, each with its port.
func hosts(c *pgx.ConnConfig) (list []string) {
	list = []string{net.JoinHostPort(c.Host, strconv.Itoa(int(c.Port)))}
	for _, f := range c.Fallbacks {
		if host := net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))); !slices.Contains(list, host) {
			list = append(list, host)
		}
	}
	return list
}

// answering returns which of the hosts of its configuration a connection is to.
func answering(ctx context.Context, conn *pgx.Conn) string {
	list := hosts(conn.Config())
	remote, ok := conn.PgConn().Conn().RemoteAddr().(*net.TCPAddr)
	if len(list) == 1 || !ok {
		return list[0]
	}
	for _, name := range list {
		host, port, _ := net.SplitHostPort(name)
		if port != strconv.Itoa(remote.Port) {
			continue
		}
		if ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host); err == nil && slices.ContainsFunc(ips, func(ip netip.Addr) bool { return ip.Unmap() == remote.AddrPort().Addr().Unmap() }) {
			return name
		}
	}
	return remote.String()
}
