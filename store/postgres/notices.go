package postgres

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/troupe-dev/troupe"
)

// A noticeKind says what a notice is about.
type noticeKind string

const (
	changed noticeKind = "c" // the session has more events, or its owner shows more
	taken   noticeKind = "t" // somebody has acquired or deleted the session
	asked   noticeKind = "a" // somebody asks something of the session's owner
	hello   noticeKind = "h" // nothing: somebody finds out whether notices come through
)

// A notice is what one process has to tell the others.
type notice struct {
	kind    noticeKind
	session string
	request troupe.SessionRequest // for asked
}

const (
	// noticePause is how long notices gather before they go out together.
	noticePause = 20 * time.Millisecond
	// maxPayload is what PostgreSQL takes of a notification, less room for a name.
	maxPayload = 7500
	// maxTitle is how much of a title is passed on: the owner shortens it anyway.
	maxTitle = 256
	// maxNotices is how many are kept while they cannot be sent. Nobody relies on them.
	maxNotices = 10_000
	// helloTime is how long a notification may take to come through.
	helloTime = 5 * time.Second
)

// notices sends and receives what processes tell each other. Each has a connection of
// its own for sending, and one for receiving.
type notices struct {
	store    *Store
	channel  string
	receiver *pgx.Conn
	sender   *pgx.Conn

	mu      sync.Mutex
	waiting map[string]bool
	wake    chan struct{}
	heard   chan struct{} // closed and replaced when something was heard
}

func newNotices(s *Store, sender *pgx.Conn) *notices {
	return &notices{store: s, sender: sender, channel: "troupe:" + s.schema, waiting: map[string]bool{}, wake: make(chan struct{}, 1), heard: make(chan struct{})}
}

// begin connects, and makes sure that notifications come through.
func (n *notices) begin(ctx context.Context) (err error) {
	if n.receiver, err = n.connectReceiver(ctx); err != nil {
		return err
	}
	if err := relax(ctx, n.sender); err != nil {
		return err
	}
	word := string(hello) + " " + rand.Text()
	if err := n.post(ctx, []string{word}); err != nil {
		return err
	}
	return n.await(ctx, word)
}

// disconnect gives up both connections, before anybody uses them.
func (n *notices) disconnect() {
	for _, conn := range []*pgx.Conn{n.receiver, n.sender} {
		if conn != nil {
			_ = conn.Close(context.Background())
		}
	}
}

// relax has commits not wait for the disk: a notification has nothing on it.
func relax(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "SET synchronous_commit = off", pgx.QueryExecModeSimpleProtocol)
	return err
}

// await waits for a notification of its own.
func (n *notices) await(ctx context.Context, word string) error {
	limited, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for {
		got, err := n.receiver.WaitForNotification(limited)
		switch {
		case err != nil && ctx.Err() == nil && limited.Err() != nil:
			return fmt.Errorf("%w: %s: a notification did not come through: connect to PostgreSQL directly, or have the pooler keep sessions (pool_mode = session)", ErrPooler, n.store.place)
		case err != nil:
			return err
		case got.Payload == word:
			return nil
		}
	}
}

func (n *notices) connectReceiver(ctx context.Context) (*pgx.Conn, error) {
	conn, err := n.store.connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{n.channel}.Sanitize(), pgx.QueryExecModeSimpleProtocol); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func (n *notices) connectSender(ctx context.Context) (*pgx.Conn, error) {
	conn, err := n.store.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := relax(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close(ctx))
	}
	return conn, nil
}

func (n *notices) post(ctx context.Context, payloads []string) error {
	_, err := n.sender.Exec(ctx, "SELECT pg_notify($1, p) FROM unnest($2::text[]) p", n.channel, payloads)
	return err
}

// add has others told of something, soon. What says the same is said once.
func (n *notices) add(what notice) {
	line := string(what.kind) + " " + what.session
	if what.kind == asked {
		what.request.Title = string([]rune(what.request.Title)[:min(maxTitle, len([]rune(what.request.Title)))])
		data, err := json.Marshal(what.request)
		if err != nil {
			return
		}
		line += " " + string(data)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if strings.ContainsAny(what.session, "\n ") || len(n.waiting) >= maxNotices {
		return // others notice a little later
	}
	n.waiting[line] = true
	select {
	case n.wake <- struct{}{}:
	default:
	}
}

// take returns what is waiting, as payloads.
func (n *notices) take() (payloads []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for line := range n.waiting {
		if b.Len()+len(line) > maxPayload && b.Len() > 0 {
			payloads = append(payloads, b.String())
			b.Reset()
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(clean(line))
	}
	clear(n.waiting)
	if b.Len() > 0 {
		payloads = append(payloads, b.String())
	}
	return payloads
}

// send tells others what there is to tell until ctx is done.
func (n *notices) send(ctx context.Context) {
	defer func() {
		if n.sender != nil {
			_ = n.sender.Close(context.Background())
		}
	}()
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		wait(ctx, noticePause)
		payloads := n.take()
		for pause := noticePause; len(payloads) > 0 && ctx.Err() == nil; pause = min(2*pause, time.Second) {
			if n.reconnectSender(ctx) == nil && n.post(ctx, payloads) == nil {
				break
			}
			wait(ctx, pause)
		}
	}
}

func (n *notices) reconnectSender(ctx context.Context) (err error) {
	if n.sender != nil && !n.sender.IsClosed() {
		return nil
	}
	n.sender, err = n.connectSender(ctx)
	return err
}

// listen heeds what others say until ctx is done.
func (n *notices) listen(ctx context.Context) {
	conn := n.receiver
	for ctx.Err() == nil {
		for conn != nil {
			got, err := conn.WaitForNotification(ctx)
			if err != nil {
				break
			}
			n.heed(ctx, got.Payload)
		}
		if conn != nil {
			_ = conn.Close(context.Background())
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if conn, err = n.connectReceiver(ctx); err != nil {
			conn = nil
			wait(ctx, 100*time.Millisecond)
			continue
		}
		// Something may have been said while nobody listened.
		n.store.owner.hear("")
		_ = n.store.owner.refresh(ctx)
		n.wakeFollowers()
	}
}

// heed does what a payload asks for.
func (n *notices) heed(ctx context.Context, payload string) {
	o := n.store.owner
	refresh := false
	for line := range strings.SplitSeq(payload, "\n") {
		kind, rest, _ := strings.Cut(line, " ")
		session, more, _ := strings.Cut(rest, " ")
		switch noticeKind(kind) {
		case changed:
			o.hear(session)
		case taken:
			o.hear(session)
			refresh = refresh || o.hasAny(session)
		case asked:
			var request troupe.SessionRequest
			if json.Unmarshal([]byte(more), &request) == nil {
				o.deliver(session, request)
			}
		}
	}
	if refresh {
		_ = o.refresh(ctx)
	}
	n.wakeFollowers()
}

// hasAny reports whether this process has a session.
func (o *owner) hasAny(session string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.leases[session] != nil
}

func (n *notices) wakeFollowers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.heard)
	n.heard = make(chan struct{})
}

// next returns what is closed when something is heard from now on.
func (n *notices) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.heard
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
