package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/troupe-dev/troupe/internal/suggest"
)

var (
	// ErrClosed reports a store that was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly reports a store that was opened for reading, or a standby.
	ErrReadOnly = errors.New("the store is read-only")
	// ErrFull reports that there was no room on the server's disk. Nothing was written.
	ErrFull = errors.New("the disk of the database is full: nothing was written")
	// ErrUnreachable reports a database that did not answer for as long as the store
	// is patient.
	ErrUnreachable = errors.New("the database cannot be reached")
	// ErrPooler reports a connection pooler that does not pass notifications on.
	ErrPooler = errors.New("a connection pooler is in the way")
)

// codeOf returns the code of an error that PostgreSQL reported, empty if it has none.
func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// isLost reports an error after which it is not known whether the server did what it was
// told: the connection is gone, or the server went down.
func isLost(err error) bool {
	if _, ok := errors.AsType[*blobError](err); ok {
		return false
	}
	switch code := codeOf(err); {
	case code == "57P01", code == "57P02", code == "57P03", strings.HasPrefix(code, "08"), code == "53300":
		return true
	case code != "":
		return false
	}
	return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, ErrClosed) && isNetwork(err)
}

func isNetwork(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) {
		return true
	}
	text := err.Error() // pgx has no type for a connection that ended
	return strings.Contains(text, "EOF") || strings.Contains(text, "conn closed") || strings.Contains(text, "connection reset") || strings.Contains(text, "broken pipe")
}

// explain says of an error what a person can do about it, in one line.
func (s *Store) explain(err error) error {
	if _, ok := errors.AsType[*blobError](err); ok {
		return err
	}
	code := codeOf(err)
	said := func(format string, args ...any) error {
		return fmt.Errorf("%s: %s (PostgreSQL says %s)", s.place, fmt.Sprintf(format, args...), code)
	}
	switch {
	case err == nil:
		return nil
	case code == "28P01":
		return said("the password of user %q is wrong, or there is none: write it into the address, or set PGPASSWORD", s.user)
	case code == "28000":
		return said("user %q is not let in from here: check pg_hba.conf and the user's name", s.user)
	case code == "3D000":
		return said("there is no database of that name: create it with 'createdb', or name another")
	case code == "42501":
		return said("user %q may not do that (%s): GRANT it the role that schema %q and its tables belong to, or have it own them", s.user, lastLine(err), s.schema)
	case code == "25006":
		return fmt.Errorf("%w: %s: it is a standby, or is set to read-only: name the primary, or several hosts with target_session_attrs=read-write", ErrReadOnly, s.place)
	case code == "53100":
		return fmt.Errorf("%w: %s", ErrFull, s.place)
	case code == "57P01", code == "57P02", code == "57P03":
		return fmt.Errorf("%w: %s: it is being started or stopped: try again in a moment", ErrUnreachable, s.place)
	case code == "53300":
		return said("it has no room for more connections: raise max_connections, or lower pool_max_conns in the address")
	case code == "26000", code == "42P05", code == "08P01" && strings.Contains(err.Error(), "startup parameter"):
		return fmt.Errorf("%w: %s: connect to PostgreSQL directly, or have the pooler keep sessions (pool_mode = session): %w", ErrPooler, s.place, err)
	}
	if better := s.explainConnect(err); better != nil {
		return better
	}
	if code == "" && isNetwork(err) {
		return fmt.Errorf("%w: %s: is it running, and is that its address? (%s)", ErrUnreachable, s.place, lastLine(err))
	}
	return err
}

// explainConnect says of an error that a connection could not be made with what a person can do
// about it, nil where that is no more than that nobody answers.
func (s *Store) explainConnect(err error) error {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); !ok {
		return nil
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return fmt.Errorf("%s: the server's certificate is not trusted: name that of its authority with sslrootcert, and the host as it is in the certificate (%s)", s.place, lastLine(err))
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok && s.needsTLS() && strings.Contains(err.Error(), "server refused TLS connection"): // pgx has no type for it
		return fmt.Errorf("%s: the server does not speak TLS, and sslmode=%s asks for it: switch it on there (ssl = on), or write sslmode=disable where the network can be trusted", s.place, cmp.Or(s.sslmode, "require"))
	case !ok:
		return nil
	case e.Code == "42704":
		name := strings.Trim(quoted.FindString(e.Message), `"`)
		return fmt.Errorf("%s: the address has the option %q, which is not known: there are %s%s", s.place, name, usualOptions, suggest.Hint(name, options))
	}
	return fmt.Errorf("%s: %s (PostgreSQL says %s)", s.place, e.Message, e.Code)
}

// needsTLS reports whether the address takes no connection without it.
func (s *Store) needsTLS() bool {
	c := s.config.ConnConfig
	return c.TLSConfig != nil && !slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.TLSConfig == nil })
}

// lastLine returns the end of an error's text: pgx lists each of its attempts.
func lastLine(err error) string {
	text := strings.TrimSpace(err.Error())
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = strings.TrimSpace(text[i:])
	}
	return text
}
