package postgres

import (
	"strings"
	"testing"
)

// A password that is not encoded makes another address of the one that was meant. Nothing of it
// is ever shown.
func TestAPasswordThatIsNotEncodedIsRefusedAndNotShown(t *testing.T) {
	for _, address := range []string{
		"postgres://u:hun@ter2/xyzzy@host/d", "postgres://u:hunter2/xyzzy@host/d", "postgres://u:12/xyzzy@host/d", "postgres://u:hun@ter2@host/d",
		"postgres://u:hunter2@xyzzy?ab=c@host/d", "postgres://u:hun@xyzzy?ab=1&zy=2@host/d", "postgres://u:xyzzy%zz@host/d", "postgres://u:hun@ter2/xyz@zy#1@host/d?sslmode=disable",
	} {
		err := refusal(t, address, Options{})
		if text := err.Error(); !strings.Contains(text, "percent-encoded") {
			t.Errorf("%s: %s", address, text)
		}
		for _, text := range []string{err.Error(), Redact(address)} {
			for _, secret := range []string{"xyz", "hun", "ter2", "zy"} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: shown is %s", address, text)
				}
			}
		}
	}
	for address, want := range map[string]string{
		"postgres://u:p?x#s@host/d":                     "p?x#s",
		"postgres://u:p%2Fss%23@host/d?sslmode=disable": "p/ss#",
		"postgres://u@host/d?password=p@ss&schema=x":    "p@ss",
		"postgres://host/d":                             "",
		"postgres://u:p@one:1,two:2/d":                  "p",
		"postgres://u:hun@ter2/xyzzy@host/d":            "hun@ter2/xyzzy",
	} {
		if got := Password(address); got != want {
			t.Errorf("%s: the password is %q; want %q", address, got, want)
		}
	}
	for _, address := range []string{"postgres://u:p@host/d?application_name=a@b", "postgres://u@host/d?user=a@b", "postgres:///d?host=/tmp", "postgres://u:p@one:1,two:2/d"} {
		if _, err := configure(address, Options{}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Several hosts are all named where nobody knows which of them is meant.
func TestSeveralHostsAreAllNamed(t *testing.T) {
	s, err := configure("postgres://u:hunter2@one:1,two,three:3/d?sslmode=prefer", Options{})
	if want := "postgres://one:1,two:5432,three:3/d (schema troupe)"; err != nil || s.place != want {
		t.Errorf("%s, %v; want %s", s.place, err, want)
	}
}

func TestDoctorNamesTheHostThatAnswered(t *testing.T) {
	address := shared.Server(t).Schema()
	several := strings.Replace(address, "@127.0.0.1:", "@127.0.0.1:1,localhost:", 1)
	d, err := Examine(t.Context(), several)
	if err != nil || strings.Contains(d.Place, "127.0.0.1:1/") || !strings.HasPrefix(d.Place, "postgres://localhost:") {
		t.Errorf("at %s, %v", d.Place, err)
	}
}

// What stands after the question mark is named if nobody knows it, with what there is.
func TestOptionsThatAreNotKnownAreNamed(t *testing.T) {
	address := shared.Server(t).Schema()
	for option, want := range map[string]string{
		"leese=5s":                  `the address has the option "leese", which is not known: there are schema, lease, `,
		"statement_timeout=forever": "statement_timeout",
		"sslmode=require":           "the server does not speak TLS, and sslmode=require asks for it",
		"sslmode=sometimes":         "sslmode",
		"pool_max_conns=many":       "pool_max_conns",
		"lease=1ms":                 "lease in the address",
	} {
		with := address + "&" + option
		if name, _, _ := strings.Cut(option, "="); name == "sslmode" {
			with = strings.Replace(address, "sslmode=disable", option, 1)
		}
		if err := refusal(t, with, Options{}); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want a word on %q", option, err, want)
		}
	}
	openAt(t, address+"&statement_timeout=60s&application_name=mine")
}
