package observe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
)

// Redact returns a handler that passes records on to h without secrets: they become
// [redacted], in the message and in every attribute, at any depth.
//
// The values given are always found, also as they look inside JSON and inside JSON
// in JSON, and if a text was cut off in the middle of one. Those shorter than eight
// bytes are ignored: replacing them would garble the log. Beyond them, what looks
// like a secret is looked for as best as can be: attributes and JSON fields with
// names such as password or api_key, authorization headers, tokens of well-known
// shapes, private keys, passwords in URLs. Time is linear in the text's length.
func Redact(h slog.Handler, secrets ...string) slog.Handler {
	r := &redactor{}
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			r.known = append(r.known, secretForms(secret)...)
		}
	}
	// The longest first: one secret may begin with another.
	slices.SortFunc(r.known, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	r.known = slices.Compact(r.known)
	return &redacting{h, r}
}

// RedactText returns a text without what looks like a secret, as [Redact] does.
func RedactText(text string) string { return withoutShapes(text) }

const (
	redacted  = "[redacted]"
	minSecret = 8
	// minCut is how much of a secret at the end of a text is taken for one.
	minCut = 6
)

type redacting struct {
	next slog.Handler
	*redactor
}

// Enabled implements [slog.Handler].
func (h *redacting) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *redacting) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.text(r.Message), r.PC)
	attrs := make([]slog.Attr, 0, r.NumAttrs())
	r.Attrs(func(a slog.Attr) bool {
		attrs = append(attrs, h.attr(a))
		return true
	})
	clean.AddAttrs(attrs...)
	return h.next.Handle(ctx, clean)
}

// WithAttrs implements [slog.Handler].
func (h *redacting) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &redacting{h.next.WithAttrs(h.attrs(attrs)), h.redactor}
}

// WithGroup implements [slog.Handler].
func (h *redacting) WithGroup(name string) slog.Handler {
	return &redacting{h.next.WithGroup(h.text(name)), h.redactor}
}

// A redactor knows secrets and what others look like.
type redactor struct {
	known []string // in all their forms, the longest first
}

func (r *redactor) attrs(attrs []slog.Attr) []slog.Attr {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = r.attr(a)
	}
	return clean
}

func (r *redactor) attr(a slog.Attr) slog.Attr {
	if isSecretName(a.Key) {
		return slog.String(r.text(a.Key), redacted)
	}
	a.Key, a.Value = r.text(a.Key), a.Value.Resolve()
	switch a.Value.Kind() {
	case slog.KindString:
		a.Value = slog.StringValue(r.text(a.Value.String()))
	case slog.KindGroup:
		a.Value = slog.GroupValue(r.attrs(a.Value.Group())...)
	case slog.KindAny:
		a.Value = r.any(a.Value)
	}
	return a
}

// any redacts what is neither text nor number. It stays what it is if there is no
// secret in it, however it will be printed, and else becomes a text.
func (r *redactor) any(v slog.Value) slog.Value {
	switch x := v.Any().(type) {
	case error:
		return slog.StringValue(r.text(x.Error()))
	case []byte:
		return slog.StringValue(r.text(string(x)))
	}
	shown, asJSON := fmt.Sprintf("%+v", v.Any()), ""
	if data, err := json.Marshal(v.Any()); err == nil {
		asJSON = string(data)
	}
	clean, cleanJSON := r.text(shown), r.text(asJSON)
	switch {
	case clean == shown && cleanJSON == asJSON:
		return v
	case asJSON != "":
		return slog.StringValue(cleanJSON)
	}
	return slog.StringValue(clean)
}

// text returns a text without secrets.
func (r *redactor) text(text string) string {
	for _, form := range r.known {
		text = strings.ReplaceAll(text, form, redacted)
	}
	return withoutShapes(r.withoutCut(text))
}

// withoutCut takes the beginning of a secret off the end of a text.
func (r *redactor) withoutCut(text string) string {
	kept := strings.TrimRight(text, "… ")
	for _, form := range r.known {
		tail := kept[max(0, len(kept)-len(form)+1):]
		for i := strings.Index(tail, form[:minCut]); i >= 0; i = strings.Index(tail, form[:minCut]) {
			if tail = tail[i:]; strings.HasPrefix(form, tail) {
				return kept[:len(kept)-len(tail)] + redacted + text[len(kept):]
			}
			tail = tail[1:]
		}
	}
	return text
}

// secretForms returns a secret as it is and as it is written in JSON, in JSON that
// is a string of another, and by Go.
func secretForms(secret string) []string {
	forms := []string{secret, unquoted(strconv.Quote(secret))}
	for _, escapeHTML := range []bool{true, false} {
		once := inJSON(secret, escapeHTML)
		forms = append(forms, once, inJSON(once, escapeHTML))
	}
	return forms
}

func inJSON(text string, escapeHTML bool) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(text); err != nil {
		return text
	}
	return unquoted(strings.TrimSuffix(b.String(), "\n"))
}

func unquoted(text string) string { return text[1 : len(text)-1] }
