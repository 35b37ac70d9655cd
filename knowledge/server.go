package knowledge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxFrame is the longest message: a document whose every byte is escaped.
	maxFrame = 32 << 20
	// idle is how long a session may be quiet before its user has to sign in again.
	idle = 30 * time.Minute
	// lastWithSessions is the last version of MCP whose requests belong to sessions,
	// which signing in needs.
	lastWithSessions = "2025-11-25"
)

// ServerOptions say who may do what. The zero value lets in users with a password,
// and reads no files.
type ServerOptions struct {
	// User is who a session is before it switches: as a rule [Local], where whoever
	// can talk to the server owns the file anyway. Default: nobody.
	User string
	// Uploads is the directory from which files are read that a client names.
	// Default: none; clients send contents.
	Uploads *os.Root
}

// NewServer offers a base over MCP with the tools of GKChatty: list_users,
// switch_user, current_user, search_gkchatty, query_gkchatty, upload_to_gkchatty,
// list_tenant_kbs, create_user and delete_document. Their answers are the same
// texts, with the data as structured content beside them; a failure is a text that
// begins with "Error" and is marked as an error.
//
// A knowledge base is the documents of one user, and has that user's name. Each
// session of the server is a user of its own; after 30 minutes without a request it
// has to switch again. Managing users, and the documents of others, is for
// administrators; Local is one.
func NewServer(b *Base, options ServerOptions) *mcp.Server {
	s := &server{base: b, options: options, sessions: map[*mcp.ServerSession]*signedIn{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "troupe-kb", Version: "1"}, &mcp.ServerOptions{
		Capabilities:              &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SupportedProtocolVersions: []string{lastWithSessions, "2025-06-18", "2025-03-26", "2024-11-05"},
	})
	for _, t := range s.tools() {
		s.mcp.AddTool(&mcp.Tool{
			Name: t.name, Description: t.description, InputSchema: t.schema(), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: t.reads},
		}, s.handler(t))
	}
	return s.mcp
}

// Serve offers a base to the one client at the other end of two streams, as a rule
// the standard ones, until the client is gone or ctx is done.
func Serve(ctx context.Context, b *Base, options ServerOptions, in io.ReadCloser, out io.WriteCloser) error {
	return NewServer(b, options).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: maxFrame})
}

// A server is a base with its sessions.
type server struct {
	base    *Base
	options ServerOptions
	mcp     *mcp.Server

	mu       sync.Mutex
	sessions map[*mcp.ServerSession]*signedIn
}

// signedIn says who a session has switched to.
type signedIn struct {
	user User
	last time.Time
}

var (
	errNobody  = errors.New("no user selected; use switch_user first")
	errExpired = errors.New("user session expired; use switch_user again")
	errNoAdmin = errors.New("admin access required")
)

// who returns the user of a session.
func (s *server) who(session *mcp.ServerSession) (User, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.sessions[session]
	switch {
	case known != nil && time.Since(known.last) >= idle:
		return User{}, errExpired
	case known != nil:
		known.last = time.Now()
		return known.user, nil
	case s.options.User == "":
		return User{}, errNobody
	case s.options.User == Local:
		return User{Name: Local, Role: RoleAdmin}, nil
	}
	return User{Name: s.options.User, Role: RoleUser}, nil
}

// signIn makes a session a user's, and forgets sessions that are over.
func (s *server) signIn(session *mcp.ServerSession, u User) {
	alive := slices.Collect(s.mcp.Sessions())
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.sessions, func(session *mcp.ServerSession, _ *signedIn) bool { return !slices.Contains(alive, session) })
	s.sessions[session] = &signedIn{u, time.Now()}
}

// A serverTool is one of the tools.
type serverTool struct {
	name, description string
	doing             string // what an error says was being done
	reads             bool
	required          []string
	optional          map[string]string // to its type
	do                func(context.Context, *request) (reply, error)
}

func (t *serverTool) schema() map[string]any {
	properties := map[string]any{}
	for _, name := range t.required {
		properties[name] = map[string]string{"type": "string"}
	}
	for name, kind := range t.optional {
		property := map[string]any{"type": kind}
		if kind == "array" {
			property["items"] = map[string]string{"type": "string"}
		}
		properties[name] = property
	}
	schema := map[string]any{"type": "object", "properties": properties}
	if len(t.required) > 0 {
		schema["required"] = t.required
	}
	return schema
}

// A request is one call of a tool, with the arguments of all of them.
type request struct {
	session *mcp.ServerSession

	Username, Email, Role string
	Password              Secret
	Query                 string
	KB                    string `json:"kb_name"`
	Limit                 int
	Path                  string `json:"file_path"`
	Content               *string
	Description, Key      string
	Tags                  []string
	ID                    string `json:"document_id"`
	Filename              string
}

// A reply is a text, and the data that it was made of.
type reply struct {
	text string
	data any
}

// handler carries out a tool. Arguments that cannot be read are not repeated to
// anybody: one may be a password.
func (s *server) handler(t serverTool) mcp.ToolHandler {
	return func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments := call.Params.Arguments
		if len(arguments) == 0 {
			arguments = json.RawMessage("{}")
		}
		in := request{session: call.Session}
		var given map[string]any
		if json.Unmarshal(arguments, &given) != nil || json.Unmarshal(arguments, &in) != nil {
			return complain("Error: the arguments do not fit the schema"), nil
		}
		for _, name := range t.required {
			if given[name] == nil || given[name] == "" {
				return complain(fmt.Sprintf("Error: %s parameter is required", name)), nil
			}
		}
		r, err := t.do(ctx, &in)
		if err != nil {
			return complain(fmt.Sprintf("Error %s: %v", t.doing, err)), nil
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.text}}, StructuredContent: r.data}, nil
	}
}

func complain(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}
