//go:build unix

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// largeMessage is how many bytes somebody says where readers take nothing in.
const largeMessage = 3 << 20

// stallReaders has readers of large messages that take nothing in, some of the same
// session and some each of its own, and looks what that costs others, and in memory.
func (w *world) stallReaders(ctx context.Context) error {
	child, err := w.serveNew(ctx, "stalled")
	if err != nil {
		return err
	}
	defer child.stop()
	const talks = 20
	var sessions []string
	for range talks {
		v, err := child.converseLarge(ctx)
		if err != nil {
			return err
		}
		sessions = append(sessions, v)
	}
	w.report.row(fmt.Sprintf("memory of the server after %d messages of 3 MB", talks), "%s", child.memory())
	crowd := &crowd{child: child}
	defer crowd.leave()
	for i := range w.stalled {
		id := sessions[0]
		if i%2 == 1 {
			id = sessions[i/2%talks]
		}
		if err := crowd.follow(id); err != nil {
			return err
		}
	}
	others, err := child.watchOthers(ctx, time.Duration(w.seconds)*time.Second)
	if err != nil {
		w.report.fail(err)
	}
	w.report.row(fmt.Sprintf("- with %d readers that take nothing in, at most", w.stalled), "%s", child.memory())
	others.report(&w.report)
	return ctx.Err()
}

// converseLarge has a conversation that begins with a large message, and returns its
// session.
func (c *child) converseLarge(ctx context.Context) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	if err := c.post(ctx, "/api/sessions", map[string]string{"agent": "clerk"}, &made); err != nil {
		return "", err
	}
	text := strings.Repeat("What is six times seven? ", largeMessage/25)
	if err := c.post(ctx, "/api/sessions/"+made.ID+"/messages", map[string]string{"text": text}, nil); err != nil {
		return "", err
	}
	for {
		var info struct {
			Status string `json:"status"`
		}
		if err := c.get(ctx, "/api/sessions/"+made.ID, &info); err != nil {
			return "", err
		}
		if info.Status == "completed" {
			return made.ID, nil
		}
		if info.Status == "failed" {
			return "", errors.New("the large message was not answered")
		}
		if !sleep(ctx, 20*time.Millisecond) {
			return "", ctx.Err()
		}
	}
}

// A crowd is many connections.
type crowd struct {
	child *child
	mu    sync.Mutex
	conns []net.Conn
}

func (c *crowd) connect() (net.Conn, error) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.child.url, "http://"))
	if err != nil {
		return nil, err
	}
	conn.(*net.TCPConn).SetReadBuffer(4 << 10) // so that little is on its way
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, conn)
	return conn, nil
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, conn := range c.conns {
		conn.Close()
	}
}

// follow asks for a session's events and takes in none.
func (c *crowd) follow(session string) error {
	conn, err := c.connect()
	if err != nil {
		return err
	}
	return c.ask(conn, session)
}

func (c *crowd) ask(conn net.Conn, session string) error {
	_, err := fmt.Fprintf(conn, "GET /api/sessions/%s/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", session, c.child.token)
	return err
}

// crowdReaders has many come to read at once: each is served or told at once that there
// is no room, and others go on as before.
func (w *world) crowdReaders(ctx context.Context) error {
	child, err := w.serveNew(ctx, "readers")
	if err != nil {
		return err
	}
	defer child.stop()
	v, err := child.converse(ctx)
	if err != nil {
		return err
	}
	defer v.close()
	if _, err := v.say(ctx, question); err != nil {
		return err
	}
	crowd := &crowd{child: child}
	defer crowd.leave()
	var mu sync.Mutex
	answers := map[int]int{}
	var took []time.Duration
	var coming sync.WaitGroup
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var others latencies
	var watched sync.WaitGroup
	watched.Go(func() { others, _ = child.watchOthers(watching, time.Hour) })
	for range w.readers {
		coming.Go(func() {
			began := time.Now()
			status := crowd.come(v.id)
			mu.Lock()
			defer mu.Unlock()
			answers[status]++
			took = append(took, time.Since(began))
		})
	}
	coming.Wait()
	stop()
	watched.Wait()
	w.report.row(fmt.Sprintf("of %d readers at once, served", w.readers), "%d", answers[http.StatusOK])
	w.report.row("- told at once that there is no room (503)", "%d", answers[http.StatusServiceUnavailable])
	w.report.row("- closed without a word", "%d", answers[0])
	w.report.row("- time to the answer, p50", "%v", percentile(took, 50))
	w.report.row("- time to the answer, p99", "%v", percentile(took, 99))
	w.report.row("- memory of the server at most", "%s", child.memory())
	others.report(&w.report)
	if n := answers[http.StatusOK] + answers[http.StatusServiceUnavailable] + answers[0]; n != w.readers {
		w.report.fail(fmt.Errorf("%d readers were answered otherwise: %v", w.readers-n, answers))
	}
	return ctx.Err()
}

// come asks for a session's events and returns the status of the answer, 0 for none.
func (c *crowd) come(session string) int {
	conn, err := c.connect()
	if err != nil || c.ask(conn, session) != nil {
		return 0
	}
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	return response.StatusCode
}

// crowdStrangers has many connections that say nothing, and looks whether those who
// have a token are served beside them.
func (w *world) crowdStrangers(ctx context.Context) error {
	child, err := w.serveNew(ctx, "strangers")
	if err != nil {
		return err
	}
	defer child.stop()
	crowd := &crowd{child: child}
	defer crowd.leave()
	refused := 0
	for range w.readers {
		if _, err := crowd.connect(); err != nil {
			refused++
		}
	}
	child.client.CloseIdleConnections() // whoever is served now comes anew
	others, err := child.watchOthers(ctx, time.Duration(w.seconds)*time.Second)
	if err != nil {
		w.report.fail(err)
	}
	w.report.row(fmt.Sprintf("beside %d connections that say nothing", w.readers), "")
	if refused > 0 {
		w.report.row("- connections that could not be made", "%d", refused)
	}
	others.report(&w.report)
	return ctx.Err()
}

// latencies are how long others waited.
type latencies struct {
	asked  []time.Duration
	turned int // away, and let in when they tried again
}

func (l *latencies) report(r *report) {
	r.row("- others waited for an answer, p50", "%v", percentile(l.asked, 50))
	r.row("- others waited for an answer, p99", "%v", percentile(l.asked, 99))
	r.row("- others waited for an answer, at most", "%v", percentile(l.asked, 100))
	if l.turned > 0 {
		r.row("- of others, told to come back", "%d", l.turned)
	}
}

// watchOthers asks for something small again and again, over a connection of its own
// each time, as somebody who has a token.
func (c *child) watchOthers(ctx context.Context, d time.Duration) (l latencies, err error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 30 * time.Second}
	for over := time.Now().Add(d); ctx.Err() == nil && time.Now().Before(over); {
		began := time.Now()
		request, err := http.NewRequestWithContext(ctx, "GET", c.url+"/api/agents", nil)
		if err != nil {
			return l, err
		}
		request.Header.Set("Authorization", "Bearer "+c.token)
		response, err := client.Do(request)
		if ctx.Err() != nil {
			return l, nil
		}
		if err != nil && strings.Contains(err.Error(), "readLoopPeekFail") { // it was told so before it had asked
			l.turned++
			continue
		}
		if err != nil {
			return l, fmt.Errorf("somebody else was not served: %w", err)
		}
		io.Copy(io.Discard, response.Body)
		response.Body.Close()
		switch response.StatusCode {
		case http.StatusOK:
			l.asked = append(l.asked, time.Since(began))
		case http.StatusServiceUnavailable:
			l.turned++
		default:
			return l, fmt.Errorf("somebody else got %s", response.Status)
		}
		sleep(ctx, 10*time.Millisecond)
	}
	return l, nil
}

// serveNew starts a server in a project of its own.
func (w *world) serveNew(ctx context.Context, name string) (*child, error) {
	dir, err := w.newProject(name)
	if err != nil {
		return nil, err
	}
	return w.serve(ctx, dir)
}
