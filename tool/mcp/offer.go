package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

const (
	maxTools       = 1000
	maxDescription = 4 << 10
	maxToolName    = 64
)

// An offer is a tool as its server describes it.
type offer struct {
	name        string // the server's
	description string
	input       json.RawMessage
	hash        string
	tool        troupe.Tool // nil where it cannot be one
	problem     string      // why it cannot
}

// learn asks the server for its tools and, where it is seen for the first time,
// accepts them.
func (s *Server) learn(ctx context.Context, l *link) error {
	offers := make(map[string]*offer)
	names := make(map[string]string)
	hashes := make(map[string]string)
	for tool, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			return err
		}
		if len(offers) == maxTools {
			return fmt.Errorf("it has more than %d", maxTools)
		}
		o, err := s.newOffer(tool)
		if err != nil {
			return err
		}
		name := toolName(s.config.Name, o.name)
		if other, taken := names[name]; taken {
			return fmt.Errorf("%.64q and %.64q would both be named %s", other, o.name, name)
		}
		names[name], offers[o.name], hashes[o.name] = o.name, o, o.hash
	}
	pins, err := pinFirst(ctx, s.config.Pins, s.config.Name, hashes)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.offers, s.pins = offers, pins
	s.mu.Unlock()
	for _, w := range s.Withheld() {
		s.config.Logger.Warn("mcp tool is withheld", "tool", printable(w.Tool), "reason", w.Reason, "hash", w.Hash)
	}
	return nil
}

// newOffer makes a tool of what a server describes. Its hash covers all that the
// model or the engine goes by, and nothing that is cut off.
func (s *Server) newOffer(t *sdk.Tool) (*offer, error) {
	input, err := encode(t.InputSchema)
	if err != nil {
		return nil, err
	}
	var hints sdk.ToolAnnotations
	if t.Annotations != nil {
		hints = *t.Annotations
	}
	repeatable := hints.ReadOnlyHint || hints.IdempotentHint
	described, err := encode([]any{t.Name, t.Description, input, repeatable, hints.ReadOnlyHint})
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(described)
	o := &offer{name: t.Name, description: clip(printable(t.Description), maxDescription), input: input, hash: hex.EncodeToString(sum[:])}
	o.tool, err = troupe.NewRawTool(troupe.ToolSpec{
		Name: toolName(s.config.Name, t.Name), Description: o.description, Input: input,
		Timeout: s.config.CallTimeout, RepeatSafe: s.config.TrustHints && repeatable,
		ReadOnly: hints.ReadOnlyHint, // a wrong hint costs the order of its calls, nothing else
	}, func(ctx context.Context, in *troupe.Invocation) (troupe.Result, error) {
		return s.call(ctx, t.Name, in.Arguments)
	})
	if err != nil {
		o.problem = err.Error()
	}
	return o, nil
}

// objection says why an offer is withheld; "" means that it is not. Another
// process may have accepted it, so the file is looked at before it is refused.
func (s *Server) objection(o *offer) string {
	if o.tool == nil {
		return o.problem
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pins[o.name] == o.hash {
		return ""
	}
	pins, err := readPins(s.config.Pins)
	if err != nil {
		s.config.Logger.Error("mcp pins cannot be read", "err", err)
		return "what was accepted cannot be read"
	}
	s.pins = pins[s.config.Name]
	switch s.pins[o.name] {
	case o.hash:
		return ""
	case "":
		return "it is new since the server's tools were accepted"
	default:
		return "it is not as it was accepted"
	}
}

// sorted returns the offers in the order of their names.
func (s *Server) sorted() []*offer {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*offer
	for _, name := range slices.Sorted(maps.Keys(s.offers)) {
		list = append(list, s.offers[name])
	}
	return list
}

// toolName returns what models call a tool. A server's name has no two underscores
// in a row and no tool of ours has, so no server can take the name of another's
// tool or of ours.
func toolName(server, tool string) string {
	name := server + "__" + strings.Map(func(r rune) rune {
		if r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, tool)
	return name[:min(len(name), maxToolName)]
}

// encode writes JSON without the escaping meant for HTML pages.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// clip returns at most n bytes of text, cut between runes, and marks the cut.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
