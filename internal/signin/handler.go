package signin

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// A visit is what is remembered of somebody while they are at the provider.
type visit struct {
	State, Nonce, Verifier string
	// To is the part of the page that they wanted to see.
	To    string
	Until time.Time
}

// visitTime is how long somebody may take at the provider.
const visitTime = 10 * time.Minute

// Handler serves everything below [Path]. Signed hears of who was signed in, and of who was
// not, as far as the provider says who that is, and with which status that was answered.
func (d *Desk) Handler(log *slog.Logger, signed func(r *http.Request, person Person, status int)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+LoginPath, func(w http.ResponseWriter, r *http.Request) {
		if err := d.send(w, r); err != nil {
			log.Error("sign-in not begun", "err", err)
			d.refuse(w, http.StatusBadGateway, "You cannot be signed in at the moment, because "+d.config.Name+" cannot be reached. Try again, and tell whoever runs this server if it stays so.")
		}
	})
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		person, to, err := d.receive(r)
		if err != nil {
			signed(r, person, http.StatusForbidden)
			log.Warn("sign-in refused", "err", err)
			d.refuse(w, http.StatusForbidden, "You are not signed in: "+err.Error()+".")
			return
		}
		sealed, err := d.close("session", person)
		if err != nil {
			signed(r, person, http.StatusInternalServerError)
			d.refuse(w, http.StatusInternalServerError, "You are not signed in.")
			return
		}
		signed(r, person, http.StatusSeeOther)
		d.setCookie(w, d.visitCookie(), "", 0)
		d.setCookie(w, d.cookieName(), sealed, d.config.Session)
		w.Header().Set("Location", d.base.String()+"/"+to)
		w.WriteHeader(http.StatusSeeOther)
	})
	mux.HandleFunc("POST "+LogoutPath, func(w http.ResponseWriter, _ *http.Request) {
		d.setCookie(w, d.cookieName(), "", 0)
		w.WriteHeader(http.StatusNoContent)
	})
	return mux
}

func (d *Desk) visitCookie() string { return d.cookieName() + "-visit" }

// send sends somebody to the provider.
func (d *Desk) send(w http.ResponseWriter, r *http.Request) error {
	provider, err := d.ask(r.Context())
	if err != nil {
		return err
	}
	v := visit{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Until: d.config.Now().Add(visitTime)}
	if to := r.URL.Query().Get("to"); strings.HasPrefix(to, "#/") && len(to) < 1000 {
		v.To = to
	}
	sealed, err := d.close("visit", v)
	if err != nil {
		return err
	}
	d.setCookie(w, d.visitCookie(), sealed, visitTime)
	w.Header().Set("Location", d.client(provider).AuthCodeURL(v.State, oidc.Nonce(v.Nonce), oauth2.S256ChallengeOption(v.Verifier)))
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// receive takes in what the provider says of somebody who comes back.
func (d *Desk) receive(r *http.Request) (Person, string, error) {
	var v visit
	cookie, err := r.Cookie(d.visitCookie())
	if err != nil || d.open(cookie.Value, "visit", &v) != nil || d.config.Now().After(v.Until) {
		return Person{}, "", errors.New("this sign-in was not begun here, or took too long; begin again")
	}
	query := r.URL.Query()
	if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(v.State)) != 1 {
		return Person{}, "", errors.New("the answer belongs to another sign-in; begin again")
	}
	if refusal := query.Get("error"); refusal != "" {
		return Person{}, "", fmt.Errorf("%s says %q", d.config.Name, strings.TrimSpace(refusal+" "+query.Get("error_description")))
	}
	provider, err := d.ask(r.Context())
	if err != nil {
		return Person{}, "", err
	}
	ctx := oidc.ClientContext(r.Context(), d.config.Client)
	token, err := d.client(provider).Exchange(ctx, query.Get("code"), oauth2.VerifierOption(v.Verifier))
	if err != nil {
		return Person{}, "", errors.New("the provider does not take the code that it gave, or the client's secret is wrong")
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, "", errors.New("the provider sent no ID token; is the scope openid allowed for this client?")
	}
	claims, err := d.verify(r.Context(), raw, v.Nonce)
	if err == nil {
		err = d.complete(r.Context(), provider, token, claims)
	}
	if err != nil {
		return Person{}, "", err
	}
	person, err := d.personOf(claims)
	return person, v.To, err
}

// refuse says on a page of its own why somebody is not signed in.
func (d *Desk) refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><title>Not signed in</title><h1>Not signed in</h1><p>%s</p><p><a href="%s">Back</a></p></html>`,
		html.EscapeString(why), html.EscapeString(d.base.String()+"/"))
}
