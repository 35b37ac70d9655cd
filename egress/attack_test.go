package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"slices"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

func TestAttacksAreRefusedBeforeAConnectionIsMade(t *testing.T) {
	// What the list has beside attacks: pages that it cites, and names of the
	// public web whose answers would be the attack.
	web := []string{"1.1.1.1", "1u.ms", "307.r3dir.me", "4d0cf09b9b2d761a7d87be99d17507bce8b86f3b.flaws.cloud", "example.com",
		"help.redacted.com", "imgur.com", "mizu.re", "nicob.net", "vozec.fr", "www.googleapis.com"}
	data, err := os.ReadFile(corpus.Path(t, "attacks/ssrf-urls.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	allowed, refused := 0, 0
	for line := range bytes.Lines(data) {
		var attack struct{ URL string }
		if err := json.Unmarshal(line, &attack); err != nil {
			t.Fatal(err)
		}
		w := &world{names: map[string][]string{
			"metadata.google.internal": {"169.254.169.254"}, "metadata.packet.net": {"192.80.8.124"},
		}}
		_, err := get(w.client(t, Config{}), attack.URL)
		u, parseErr := url.Parse(attack.URL)
		if parseErr == nil && (u.Scheme == "http" || u.Scheme == "https") && slices.Contains(web, u.Hostname()) {
			allowed++
			if !errors.Is(err, errDialled) {
				t.Errorf("%s is not dialled: %v", attack.URL, err)
			}
			continue
		}
		refused++
		if err == nil || len(w.dialled) > 0 || parseErr == nil && refusal(err) == "" {
			t.Errorf("%s: %v, dialled %v", attack.URL, err, w.dialled)
		}
	}
	t.Log(refused, "refused,", allowed, "allowed")
	if refused < 100 || allowed < len(web) {
		t.Errorf("%d refused and %d allowed: the list is not what it was", refused, allowed)
	}
}
