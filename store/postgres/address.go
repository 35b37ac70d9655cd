package postgres

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// IsAddress reports whether a text is the address of a database, and not the name of a file.
func IsAddress(text string) bool {
	return strings.HasPrefix(text, "postgres://") || strings.HasPrefix(text, "postgresql://")
}

// Redact returns an address without its password.
func Redact(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "postgres://..." // whatever it is, it may hold a password
	}
	query := u.Query()
	if query.Has("password") {
		query.Set("password", "xxxxx")
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}

// Password returns the one that an address has, for those who keep it out of logs.
func Password(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	if password, ok := u.User.Password(); ok {
		return password
	}
	return u.Query().Get("password")
}

func hasParameter(address, name string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Query().Has(name)
}

// reason returns why an address cannot be read, without the address.
func reason(err error) string {
	if e, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		if cause := e.Unwrap(); cause != nil {
			if bad, ok := errors.AsType[*url.Error](cause); ok {
				cause = bad.Err
			}
			return cause.Error()
		}
	}
	return "it cannot be read"
}
