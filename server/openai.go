package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/troupe-dev/troupe"
)

// sessionHeader says in which session an answer was given. A request whose metadata
// have that id as "session" goes on with it.
const sessionHeader = "Troupe-Session"

// A completionRequest is what clients of OpenAI's API send. Fields that are not here
// are for models, and an agent has its own settings.
type completionRequest struct {
	Model         string            `json:"model"`
	Messages      []chatTurn        `json:"messages"`
	Stream        bool              `json:"stream,omitempty"`
	StreamOptions *streamOptions    `json:"stream_options,omitempty"`
	User          string            `json:"user,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	N             *int              `json:"n,omitempty"`
	Tools         []any             `json:"tools,omitempty"`
	Functions     []any             `json:"functions,omitempty"`
	Format        *responseFormat   `json:"response_format,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty"`
}

type responseFormat struct {
	Type string `json:"type"`
}

// check refuses what an agent cannot do, rather than leave it out silently.
func (r *completionRequest) check() error {
	unsupported := func(param, why string) error {
		return refuse(http.StatusBadRequest, "%s", why).concerning(param, "unsupported_parameter")
	}
	switch {
	case len(r.Tools) > 0:
		return unsupported("tools", "an agent has its own tools: it cannot be given others")
	case len(r.Functions) > 0:
		return unsupported("functions", "an agent has its own tools: it cannot be given functions")
	case r.N != nil && *r.N != 1:
		return unsupported("n", "an agent gives one answer")
	case r.Format != nil && r.Format.Type != "text":
		return unsupported("response_format", "an agent answers in text")
	}
	return nil
}

// A completing request is one whose run is under way.
type completing struct {
	*Server
	run       *running
	talk      *talk
	made      completion
	withUsage bool
}

// complete answers as OpenAI's API does. A client that closes the connection has no
// other way to say that it wants no answer: the run is cancelled, unless the request has
// a key, by which it may be sent again.
func (s *Server) complete(c *call, in completionRequest) error {
	if err := in.check(); err != nil {
		return err
	}
	talk, err := parseTalk(c.user, &in)
	if err != nil {
		return err
	}
	step, err := s.step(c.r.Context(), in.Model)
	if err != nil {
		return err
	}
	k := &completing{Server: s, talk: talk, made: completion{Object: "chat.completion", Created: time.Now().Unix(), Model: in.Model}}
	k.withUsage = in.StreamOptions != nil && in.StreamOptions.IncludeUsage
	begin := func() (err error) {
		if k.run, err = s.goOn(c, step, &in, talk); err == nil {
			k.made.ID = "chatcmpl-" + k.run.Run
			c.w.Header().Set(sessionHeader, k.run.Session)
		}
		return err
	}
	defer func() {
		if k.run != nil && c.r.Header.Get("Idempotency-Key") == "" {
			k.run.cancel(errClientLeft)
		}
	}()
	if in.Stream {
		return s.stream(c, func() (feed, error) { return k.inPieces, begin() })
	}
	if err := begin(); err != nil {
		return err
	}
	return k.atOnce(c)
}

var errClientLeft = errors.New("the client closed the connection")

// atOnce answers when the run has ended.
func (k *completing) atOnce(c *call) error {
	var said speech
	end, err := said.listen(c.r.Context(), k.run, func(string) error { return nil })
	if err != nil {
		return said.failure(err)
	}
	k.remember(k.talk, said.kept.String(), end)
	body := end.Body.(*troupe.RunFinished)
	why := finishOf(body.Stop)
	k.made.Choices = []choice{{Message: &answer{Role: "assistant", Content: said.kept.String()}, FinishReason: &why}}
	k.made.Usage = usageOf(body)
	return c.answer(http.StatusOK, k.made, nil)
}

// inPieces sends what the run says as it says it.
func (k *completing) inPieces(ctx context.Context, out *events) error {
	k.made.Object = "chat.completion.chunk"
	piece := func(delta answer, why *string) error {
		k.made.Choices = []choice{{Delta: &delta, FinishReason: why}}
		return out.sendJSON(k.made)
	}
	if err := piece(answer{Role: "assistant"}, nil); err != nil {
		return err
	}
	var said speech
	end, err := said.listen(ctx, k.run, func(text string) error { return piece(answer{Content: text}, nil) })
	if errors.Is(err, errReaderLost) || ctx.Err() != nil {
		return err
	}
	if err != nil {
		return out.sendJSON(said.failure(err).asOpenAI())
	}
	k.remember(k.talk, said.said.String(), end)
	body := end.Body.(*troupe.RunFinished)
	why := finishOf(body.Stop)
	if err := piece(answer{}, &why); err != nil {
		return err
	}
	if k.withUsage {
		k.made.Choices, k.made.Usage = []choice{}, usageOf(body)
		if err := out.sendJSON(k.made); err != nil {
			return err
		}
	}
	return out.send(doneMark)
}

// errUnfinished reports a run that ended without saying how.
var errUnfinished = errors.New("the run was broken off")

// listen hands on what a run says until it has ended, and returns its last event.
func (s *speech) listen(ctx context.Context, run *running, hand func(text string) error) (end *troupe.Event, err error) {
	for {
		select {
		case h, ok := <-run.events:
			if !ok && end == nil {
				return nil, errUnfinished
			}
			if !ok || h.err != nil {
				return end, h.err
			}
			if text := s.note(&h.event); text != "" {
				if err := hand(text); err != nil {
					return nil, err
				}
			}
			if _, finished := h.event.Body.(*troupe.RunFinished); finished && h.event.Parent == "" {
				end = &h.event // the session is free for another run when no more comes
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// A modelList is how agents and flows are listed for clients that want models.
type modelList struct {
	Object string      `json:"object"`
	Data   []modelInfo `json:"data"`
}

type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (s *Server) modelInfo(id string) modelInfo {
	return modelInfo{id, "model", s.started.Unix(), "troupe"}
}

func (s *Server) listModels(*call) (modelList, error) {
	list := modelList{"list", []modelInfo{}}
	for _, agent := range s.config.Cast.Agents() {
		if agent.Broken == "" {
			list.Data = append(list.Data, s.modelInfo(agent.ID))
		}
	}
	for _, flow := range s.config.Cast.Flows() {
		list.Data = append(list.Data, s.modelInfo(flow.Name))
	}
	return list, nil
}

func (s *Server) showModel(c *call) (modelInfo, error) {
	id := c.r.PathValue("model")
	_, err := s.step(c.r.Context(), id)
	return s.modelInfo(id), err
}
