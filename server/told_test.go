package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// What a request was refused for is told in the words of whoever refused it. What the
// machine says about its files, programs and time is not: the log has it.
func TestErrorsOfTheMachineAreNotToldToPeople(t *testing.T) {
	_, missing := os.ReadFile("/no/such/place/plan.yaml")
	for _, err := range []error{
		missing, &fs.PathError{Op: "open", Path: "/home/ada/plan.yaml.new", Err: fs.ErrPermission}, os.NewSyscallError("read", errors.New("input/output error")),
		&os.LinkError{Op: "rename", Old: "/home/ada/a", New: "/home/ada/b", Err: errors.New("cross-device link")},
		fmt.Errorf("read the plan: %w", io.ErrUnexpectedEOF), io.EOF, fmt.Errorf("git log: %w", context.DeadlineExceeded),
	} {
		p := problemOf(told(http.StatusConflict, fmt.Errorf("delivery 1a2b3c4d was not applied: %w", err)))
		if p.hidden == nil || p.Status < 500 || strings.Contains(p.Detail, "/") || strings.Contains(p.Detail, err.Error()) {
			t.Errorf("of %v a person is told %d %q", err, p.Status, p.Detail)
		}
	}
	p := problemOf(told(http.StatusConflict, errors.New("a.go is changed in the checkout")))
	if p.Status != http.StatusConflict || p.Detail != "a.go is changed in the checkout" || p.hidden != nil {
		t.Errorf("got %+v", p)
	}
}

// That there is nothing to go on with is said without names of the library.
func TestWhatCannotBeResumedIsSaidInTheCataloguesWords(t *testing.T) {
	for err, want := range map[error]string{
		fmt.Errorf("session 1: its run waits for an answer, by Engine.Answer or Input.Answer: %w", troupe.ErrNothingToResume): "There is nothing to resume",
		fmt.Errorf("session 1: its run is of a, not of b: %w", troupe.ErrChanged):                                             "has changed since this run began",
	} {
		p := problemOf(err)
		if p.Status != http.StatusConflict || !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "Engine") || p.Next == "" || p.Details != err.Error() {
			t.Errorf("of %v a person is told %+v", err, p)
		}
	}
}
