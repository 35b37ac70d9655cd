//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sse"
)

// A conversation is what one page has open.
type conversation struct {
	child  *child
	id     string
	stream io.Closer
	events *sse.Reader
	seq    int64 // of the last stored event
	// log is what is stored of it, for who wants that.
	log []troupe.Event
}

// converse makes a session and follows its events.
func (c *child) converse(ctx context.Context) (*conversation, error) {
	v := &conversation{child: c}
	var made troupe.SessionInfo
	if err := c.post(ctx, "/api/sessions", map[string]string{"agent": "clerk"}, &made); err != nil {
		return nil, err
	}
	v.id = made.ID
	response, err := c.send(ctx, "GET", "/api/sessions/"+v.id+"/events", nil)
	if err != nil {
		return nil, err
	}
	v.stream, v.events = response.Body, sse.NewReader(response.Body, 0)
	return v, nil
}

func (v *conversation) close() { v.stream.Close() }

// A turn is how long it took to answer.
type turn struct{ toFirstToken, whole time.Duration }

// say says something and reads the answer to its end. Events that are lost or come
// twice are an error, and so is an answer other than the model's.
func (v *conversation) say(ctx context.Context, text string) (t turn, err error) {
	began := time.Now()
	if err := v.child.post(ctx, "/api/sessions/"+v.id+"/messages", map[string]string{"text": text}, nil); err != nil {
		return t, err
	}
	calls := 1
	if text == greeting {
		calls = 0
	}
	var shown string
	show := func(text string) {
		if shown == "" {
			t.toFirstToken = time.Since(began)
		}
		shown += text
	}
	returned := 0
	for {
		e, err := v.next()
		if err != nil {
			return t, fmt.Errorf("session %s: after event %d: %w", v.id, v.seq, err)
		}
		switch b := e.Body.(type) {
		case *troupe.TextDelta:
			show(b.Text)
		case *troupe.ModelReplied:
			if shown == "" && b.Message.Text != "" {
				show(b.Message.Text) // it was whole before there was anybody to show it to
			}
		case *troupe.ToolReturned:
			if returned++; b.Class != "" {
				return t, fmt.Errorf("session %s: the tool: %s", v.id, b.Error)
			}
		case *troupe.RunFailed:
			return t, fmt.Errorf("session %s: %s", v.id, b.Error)
		case *troupe.RunFinished:
			t.whole = time.Since(began)
			if shown != answer || b.Output.Summary != answer || returned != calls {
				return t, fmt.Errorf("session %s: after %d calls it showed %q and ended with %q", v.id, returned, shown, b.Output.Summary)
			}
			return t, nil
		}
	}
}

// next returns the next event, if it is the next.
func (v *conversation) next() (e troupe.Event, err error) {
	message, err := v.events.Next()
	if err != nil {
		return e, err
	}
	if err := json.Unmarshal(message.Data, &e); err != nil {
		return e, err
	}
	if e.Seq == 0 {
		return e, nil // shown, not stored
	}
	if e.Seq != v.seq+1 {
		return e, fmt.Errorf("event %d came next", e.Seq)
	}
	v.seq = e.Seq
	v.log = append(v.log, e)
	return e, nil
}

func (c *child) post(ctx context.Context, path string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	response, err := c.send(ctx, "POST", path, data)
	if err != nil {
		return err
	}
	return decode(response, out)
}

// decode reads an answer into out, if that is not nil.
func decode(response *http.Response, out any) error {
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// send sends a request. An answer that refuses it is an error.
func (c *child) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
	return nil, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, said)
}
