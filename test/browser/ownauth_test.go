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

// Where a program signs people in, the page offers no links, which would let nobody in, and sends
// nobody to a file that decides nothing there.
func TestWhereAProgramSignsPeopleInNoLinkIsOffered(t *testing.T) {
	t.Parallel()
	var isOperator atomic.Bool
	isOperator.Store(true)
	link, _ := programServer(t, server.Config{Store: library.NewMemoryStore(), Cast: counting{}, Auth: func(*http.Request) (user, role string, err error) {
		if isOperator.Load() {
			return "ann", server.RoleOperator, nil
		}
		return "ann", server.RoleUser, nil
	}})
	b := open(t, link+"#/settings/people")
	b.sees(".set", "There are no sign-in links here")
	b.sees(".set .rows", "ann")
	b.lacks(".set button", "New sign-in link")
	b.lacks(".set", "troupe.yaml")
	isOperator.Store(false)
	value[any](b, "void location.reload()")
	b.sees(".set [role=status]", "People is for whoever runs Troupe. You are not among them.")
	b.lacks(".set", "server.operators")
}
