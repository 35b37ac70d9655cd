package browser

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
)

// Where a program knows its users itself, no code lets anybody in: who signs out is not asked for
// one, and comes back by loading the page anew, or where the program says.
func TestWhoeverSignsOutOfAProgramsOwnServerIsAskedForNoCode(t *testing.T) {
	t.Parallel()
	for name, signIn := range map[string]string{"no address": "", "an address": "own/login"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var isOut atomic.Bool
			link, s := programServer(t, server.Config{Store: library.NewMemoryStore(), Cast: counting{}, SignOut: "own/logout", SignIn: signIn, Auth: func(*http.Request) (user, role string, err error) {
				if isOut.Load() {
					return "", "", errors.New("nobody is signed in")
				}
				return "ann", server.RoleUser, nil
			}})
			s.MountOpen("/own/logout", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				isOut.Store(true)
				w.WriteHeader(http.StatusNoContent)
			}))
			s.MountOpen("/own/login", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				isOut.Store(false)
				http.Redirect(w, r, "../"+r.FormValue("to"), http.StatusSeeOther)
			}))
			b := open(t, link)
			b.sees(".side .foot", "ann")
			b.signsOut()
			b.sees(".door", "You are signed out.")
			b.lacks(".door", "code")
			b.holds("!find('#code')")
			if signIn == "" {
				isOut.Store(false) // as somebody who signs in elsewhere
				b.click(".door button", "Load the page anew")
			} else {
				b.click(".door button", "Sign in")
			}
			b.sees(".rows", "Sign out") // where they were
		})
	}
}
