package terminal

import (
	"cmp"
	"strings"

	"github.com/troupe-dev/troupe"
)

// Pieces puts an answer together that comes in several replies, because each reaches the
// output limit and the model is asked to go on.
type Pieces struct {
	pieces []string
	said   string // by the latest reply that is no piece
}

// Reply returns what there is to show of a reply, and keeps what belongs to an answer that
// is not complete.
func (p *Pieces) Reply(b *troupe.ModelReplied) string {
	text := cmp.Or(b.Message.Text, b.Message.Refusal)
	hasCalls := len(b.Message.Calls) > 0
	if !hasCalls && (b.Finish == troupe.FinishLength || len(p.pieces) > 0) {
		p.pieces = append(p.pieces, text)
		return ""
	}
	kept := p.Rest()
	p.said = text
	return kept + text
}

// Finish returns what there is to show of a run's result: nothing where it was said last,
// and an answer that came in pieces once.
func (p *Pieces) Finish(result string) string {
	if p.HasSaid(result) && len(p.pieces) == 0 {
		return ""
	}
	if !p.HasSaid(result) {
		if kept := p.Rest(); kept != "" {
			result = strings.TrimRight(kept+"\n"+result, "\n")
		}
	}
	p.pieces, p.said = nil, result
	return result
}

// HasSaid reports whether a result is what was said last: in one reply, or in pieces, of
// which a model that began anew has made the earlier ones void.
func (p *Pieces) HasSaid(result string) bool {
	for i := range p.pieces {
		if strings.Join(p.pieces[i:], "") == result {
			return true
		}
	}
	return len(p.pieces) == 0 && result == p.said
}

// Rest returns what is kept of an answer that will not be complete, and forgets it.
func (p *Pieces) Rest() string {
	kept := strings.Join(p.pieces, "")
	p.pieces = nil
	return kept
}

// Kept is what is kept of an answer that is not complete.
func (p *Pieces) Kept() string { return strings.Join(p.pieces, "") }
