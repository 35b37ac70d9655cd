package observe_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/observe"
)

// longText is ordinary.
var longText = strings.Repeat("The tokens that a key stakeholder passes on are authorization enough; see https://example.org:8080/a@b. ", 10)

// redacted returns what becomes of a text.
func redacted(t testing.TB, text string, secrets ...string) string {
	t.Helper()
	var out bytes.Buffer
	slog.New(observe.Redact(slog.NewJSONHandler(&out, nil), secrets...)).Info(text)
	var record struct{ Msg string }
	if err := json.Unmarshal(out.Bytes(), &record); err != nil {
		t.Fatal(err)
	}
	return record.Msg
}

func TestWhatLooksLikeASecretIsRedacted(t *testing.T) {
	for _, test := range [][2]string{
		{"Authorization: Bearer abc.def", "Authorization: Bearer [redacted]"},
		{`{"Authorization":"Basic dXNlcjpwYXNz"}`, `{"Authorization":"[redacted]"}`},
		{"curl -H 'authorization: token abc123'", "curl -H 'authorization: token [redacted]'"},
		{"sent bearer 0123456789abcdefghij to it", "sent bearer [redacted] to it"},
		{"key sk-proj-abcdefghijklmnopqrstuvwx, yes", "key [redacted], yes"},
		{`"a\nsk-abcdefghijklmnopqrstuvwx"`, `"a\n[redacted]"`},
		{"ghp_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted]"},
		{"github_pat_11ABCDEFG0123456789_abcdef", "[redacted]"},
		{"id=AKIAIOSFODNN7EXAMPLE;", "id=[redacted];"},
		{"xoxb-123456789012-abcdef", "[redacted]"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-1", "[redacted]"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nrest", "[redacted]\nrest"},
		{`x -----BEGIN PRIVATE KEY-----\nMIIEcut`, "x [redacted]"},
		{`{"user":"ann","password":"a \"b\" c","n":1}`, `{"user":"ann","password":"[redacted]","n":1}`},
		{`{"body":"{\"api_key\":\"s p\\n x\",\"b\":1}"}`, `{"body":"{\"api_key\":\"[redacted]\",\"b\":1}"}`},
		{`{"password":"a\\","x":"y"}`, `{"password":"[redacted]","x":"y"}`},
		{`{"client_secret":"cut off`, `{"client_secret":"[redacted]`},
		{`{"pin":1,"token":123456}`, `{"pin":1,"token":[redacted]}`},
		{"OPENAI_API_KEY=abc other=1", "OPENAI_API_KEY=[redacted] other=1"},
		{"https://x.org/?access_token=abc&q=1", "https://x.org/?access_token=[redacted]&q=1"},
		{"the password: password=abc", "the password: password=[redacted]"},
		{`"{\\\"x\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"q\\\\\\\"}\\\"}"`, `"{\\\"x\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"[redacted]\\\\\\\"}\\\"}"`},
		{"db-password: hunter2", "db-password: [redacted]"},
		{"postgres://ann:p:w@db/x", "postgres://ann:[redacted]@db/x"},
	} {
		if got := redacted(t, test[0]); got != test[1] {
			t.Errorf("%s\ngot  %s\nwant %s", test[0], got, test[1])
		}
		if again := redacted(t, test[1]); again != test[1] {
			t.Errorf("%s is redacted again: %s", test[1], again)
		}
	}
}

func TestOrdinaryTextStaysAsItIs(t *testing.T) {
	for _, text := range []string{
		longText,
		"The password: it must be long. Password = required. Secret: none.",
		"max_tokens=4096 tokens_in=12 \"input_tokens\": 120, tokens: 1234",
		"A bearer of news; basic internationalization; sk-learn; task-management-for-everybody-here",
		"if token == nil { token := next() }; password_reset_url=https://example.org/x",
		`{"type":"object","properties":{"password":{"type":"string"}},"required":["password"]}`,
		`{"password":"","token":null}`, "password=${DB_PASSWORD}",
		"monkey: 12345, turkey=abc123, keyboard: qwerty99",
		"0f8fad5b-d9cb-469f-a165-70867728950e a1b2c3d4:3/1/1",
		"mailto:ann@example.org, http://[::1]:80/, git@github.com:a/b.git, 12:30 @noon",
		"authorization: the user must agree", "資格 🎭 passport number: none",
	} {
		if got := redacted(t, text); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestKnownSecretsAreFoundInEveryForm(t *testing.T) {
	secret := "p<ä>\"w\\\n\tx\x01end"
	once, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(once))
	var plain bytes.Buffer
	enc := json.NewEncoder(&plain)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(secret); err != nil {
		t.Fatal(err)
	}
	for _, form := range []string{secret, string(once), string(twice), plain.String(), fmt.Sprintf("%q", secret)} {
		got := redacted(t, "a "+form+" z", secret, "short", "")
		if !strings.Contains(got, "[redacted]") || strings.Contains(got, "end") || strings.Contains(got, "ä") {
			t.Errorf("%s became %s", form, got)
		}
	}
	if got := redacted(t, "it is short", "short"); got != "it is short" {
		t.Errorf("too short a secret was replaced: %s", got)
	}
	if got := redacted(t, "abcdefgh12345678", "abcdefgh", "abcdefgh12345678"); got != "[redacted]" {
		t.Errorf("a secret that begins with another left %s", got)
	}
}

func TestASecretThatWasCutOffIsFound(t *testing.T) {
	const secret = "correct-horse-battery"
	for _, test := range [][2]string{
		{"it is correct-horse-b…", "it is [redacted]…"},
		{"it is correct-horse-b …", "it is [redacted] …"},
		{"correct-correct-horse", "correct-[redacted]"},
		{"that is corr", "that is corr"},
	} {
		if got := redacted(t, test[0], secret); got != test[1] {
			t.Errorf("%q became %q", test[0], got)
		}
	}
}

// It takes a tenth of a second each, as a rule, and much longer if time is quadratic.
func TestHostileTextTakesLinearTime(t *testing.T) {
	for _, piece := range []string{
		"password:", "password=", `"token":\"`, "-eyJ", ".eyJ.eyJ", "://a:", "://a:b@", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "bearer ", "Authorization: Basic ", `\`, "known-secre", "token: ",
	} {
		start := time.Now()
		redacted(t, strings.Repeat(piece, 1<<19/len(piece)), "known-secret-value", strings.Repeat("known-secre", 100))
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%q takes %s", piece, took)
		}
	}
}

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

func TestSecretsAreFoundAtAnyDepth(t *testing.T) {
	const secret = "known-secret-value"
	type pair struct{ Name, hidden string }
	var text, asJSON bytes.Buffer
	log := slog.New(observe.Redact(slog.NewMultiHandler(slog.NewTextHandler(&text, nil), slog.NewJSONHandler(&asJSON, nil)), secret))
	log.With("with", secret, "password", 1234).WithGroup("g-"+secret).With("x", secret).Info("m "+secret,
		"plain", 7, "at", noon, "dur", time.Second,
		"error", fmt.Errorf("wrapped: %w", errors.New(secret)), "bytes", []byte(secret), "valuer", valuer{valuer{secret}},
		slog.Group("a", slog.Group("b", "c", secret, "api_key", "xyz")),
		"list", []string{"a", secret}, "map", map[string]any{"password": "xyz"}, "struct", pair{"n", secret}, "key "+secret, 1,
		"harmless", map[string]int{"tokens": 3})
	for _, out := range []string{text.String(), asJSON.String()} {
		if strings.Contains(out, secret) || strings.Contains(out, "xyz") || strings.Contains(out, "1234") {
			t.Errorf("a secret in %s", out)
		}
		if !strings.Contains(out, "2026-05-04T12:00:00") {
			t.Errorf("what is not secret changed: %s", out)
		}
	}
	if !strings.Contains(asJSON.String(), `"harmless":{"tokens":3}`) || !strings.Contains(asJSON.String(), `"plain":7`) {
		t.Errorf("what is not secret changed: %s", asJSON.String())
	}
}

// A known secret never comes through, whatever stands around it.
func FuzzRedact(f *testing.F) {
	f.Add("a ", "known-secret-value", " z")
	f.Add(`{"password":"`, "12345678\"x", `"}`)
	f.Add("known-", "known-secret", "secret")
	f.Fuzz(func(t *testing.T, before, secret, after string) {
		if len(secret) < 8 || strings.ContainsAny(secret, "[]") || strings.ToValidUTF8(secret, "") != secret {
			t.Skip("this is no secret that a caller would give")
		}
		if got := redacted(t, strings.ToValidUTF8(before+secret+after, ""), secret); strings.Contains(got, secret) {
			t.Fatalf("%q came through in %q", secret, got)
		}
	})
}

func BenchmarkRedactLongText(b *testing.B) {
	h := observe.Redact(slog.DiscardHandler, "a-known-secret-value")
	record := slog.NewRecord(noon, slog.LevelInfo, strings.Repeat(longText, 16), 0)
	b.SetBytes(int64(len(record.Message)))
	for b.Loop() {
		if err := h.Handle(b.Context(), record); err != nil {
			b.Fatal(err)
		}
	}
}
