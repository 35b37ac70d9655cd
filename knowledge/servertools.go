package knowledge

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// tools lists what the server offers.
func (s *server) tools() []serverTool {
	return []serverTool{
		{name: "list_users", doing: "listing users", reads: true, do: s.listUsers,
			description: "List all users. For administrators."},
		{name: "switch_user", doing: "switching user", do: s.switchUser, required: []string{"username", "password"},
			description: "Make this session that of another user."},
		{name: "current_user", doing: "getting current user", reads: true, do: s.currentUser,
			description: "Show whose session this is."},
		{name: "search_gkchatty", doing: "searching", reads: true, do: s.search,
			required: []string{"query"}, optional: map[string]string{"kb_name": "string"},
			description: "Find documents in a knowledge base. kb_name is another one than the user's own, for administrators."},
		{name: "query_gkchatty", doing: "querying GKChatty", reads: true, do: s.query,
			required: []string{"query"}, optional: map[string]string{"limit": "integer"},
			description: "Ask a question and get the passages that are nearest to it."},
		{name: "upload_to_gkchatty", doing: "uploading", do: s.upload, required: []string{"file_path"},
			optional:    map[string]string{"content": "string", "description": "string", "tags": "array", "key": "string"},
			description: "Keep a document. With content, file_path is its name; else it is a file in the directory that is granted for this. Uploads with the same key happen once."},
		{name: "list_tenant_kbs", doing: "listing tenant KBs", reads: true, do: s.listBases,
			description: "List the knowledge bases that this session may search."},
		{name: "create_user", doing: "creating user", do: s.createUser,
			required: []string{"username", "password"}, optional: map[string]string{"email": "string", "role": "string"},
			description: "Create a user, whose role is user or admin. For administrators."},
		{name: "delete_document", doing: "deleting document", do: s.deleteDocument,
			optional:    map[string]string{"document_id": "string", "filename": "string"},
			description: "Delete a document of the user by its id or its name."},
	}
}

// administrator fails unless the session is one's.
func (s *server) administrator(in *request) error {
	u, err := s.who(in.session)
	if err == nil && u.Role != RoleAdmin {
		err = errNoAdmin
	}
	return err
}

// mine returns the base as the session's user sees it.
func (s *server) mine(in *request) (*Base, error) {
	u, err := s.who(in.session)
	return s.base.As(u.Name), err
}

func (s *server) listUsers(ctx context.Context, in *request) (reply, error) {
	if err := s.administrator(in); err != nil {
		return reply{}, err
	}
	users, err := s.base.Users(ctx)
	if err != nil || len(users) == 0 {
		return reply{text: "No users found."}, err
	}
	var b strings.Builder
	b.WriteString("Available Users:")
	for i, u := range users {
		fmt.Fprintf(&b, "\n\n%d. %s\n   Email: %s\n   Role: %s", i+1, u.Name, u.Email, u.Role)
	}
	return reply{text: b.String()}, nil
}

func (s *server) switchUser(ctx context.Context, in *request) (reply, error) {
	u, err := s.base.admit(ctx, in.Username, in.Password)
	if err != nil {
		return reply{}, err
	}
	s.signIn(in.session, u)
	return reply{text: fmt.Sprintf("✅ Successfully switched to user: %s\n\nRole: %s", u.Name, u.Role)}, nil
}

func (s *server) currentUser(_ context.Context, in *request) (reply, error) {
	u, err := s.who(in.session)
	return reply{text: fmt.Sprintf("Current user: %s\nRole: %s", u.Name, u.Role)}, err
}

func (s *server) search(ctx context.Context, in *request) (reply, error) {
	b, err := s.mine(in)
	if err != nil {
		return reply{}, err
	}
	if in.KB != "" && in.KB != b.user {
		if err := s.administrator(in); err != nil {
			return reply{}, err
		}
		b = b.As(in.KB)
	}
	hits, err := b.Search(ctx, in.Query, defaultLimit)
	if err != nil {
		return reply{}, err
	}
	data := searchData{Documents: append([]Hit{}, hits...)}
	if len(hits) == 0 {
		return reply{fmt.Sprintf("No results found for query: %q", in.Query), data}, nil
	}
	var text strings.Builder
	fmt.Fprintf(&text, "GKChatty Results for %q:", in.Query)
	for i, h := range hits {
		fmt.Fprintf(&text, "\n\n%d. %s\n   Score: %.3f\n   ID: %d\n   sha256:%s\n   %s", i+1, h.Name, h.Score, h.ID, h.SHA256, h.Preview)
	}
	return reply{text.String(), data}, nil
}

// searchData and queryData are the structured contents of what is found.
type (
	searchData struct {
		Documents []Hit `json:"documents"`
	}
	queryData struct {
		Passages []Passage `json:"passages"`
	}
)

func (s *server) query(ctx context.Context, in *request) (reply, error) {
	b, err := s.mine(in)
	if err != nil {
		return reply{}, err
	}
	passages, err := b.Query(ctx, in.Query, in.Limit)
	if err != nil {
		return reply{}, err
	}
	var text strings.Builder
	text.WriteString("GKChatty Response:")
	if len(passages) == 0 {
		text.WriteString("\n\nNothing was found.")
	}
	for _, p := range passages {
		fmt.Fprintf(&text, "\n\n[%s] %s\n%s", p.Document, p.Heading, p.Text)
	}
	return reply{text.String(), queryData{append([]Passage{}, passages...)}}, nil
}

func (s *server) upload(ctx context.Context, in *request) (reply, error) {
	b, err := s.mine(in)
	if err != nil {
		return reply{}, err
	}
	d := Document{Name: in.Path, Description: in.Description, Tags: in.Tags, Key: in.Key}
	if in.Content != nil {
		d.Content = *in.Content
	} else {
		d.Name = filepath.Base(in.Path)
		if d.Content, err = readGranted(s.options.Uploads, in.Path); err != nil {
			return reply{}, err
		}
	}
	info, err := b.keep(ctx, d)
	if err != nil {
		return reply{}, err
	}
	return reply{text: fmt.Sprintf("✅ Successfully uploaded to GKChatty!\n\nFile: %s\nUploaded as: %s\nDocument ID: %d\nsha256:%s",
		info.Name, b.user, info.ID, info.SHA256), data: info}, nil
}

func (s *server) listBases(ctx context.Context, in *request) (reply, error) {
	u, err := s.who(in.session)
	if err != nil {
		return reply{}, err
	}
	names, counts, err := s.base.owners(ctx)
	if err != nil {
		return reply{}, err
	}
	if u.Role != RoleAdmin {
		names = []string{u.Name}
	}
	var b strings.Builder
	b.WriteString("Available Tenant Knowledge Bases:")
	for i, name := range names {
		fmt.Fprintf(&b, "\n\n%d. %s\n   Documents: %d", i+1, name, counts[name])
	}
	return reply{text: b.String()}, nil
}

func (s *server) createUser(ctx context.Context, in *request) (reply, error) {
	if err := s.administrator(in); err != nil {
		return reply{}, err
	}
	u := User{Name: in.Username, Email: in.Email, Role: in.Role}
	if err := s.base.CreateUser(ctx, u, in.Password); err != nil {
		return reply{}, err
	}
	return reply{text: fmt.Sprintf("✅ Successfully created user: %s", u.Name)}, nil
}

func (s *server) deleteDocument(ctx context.Context, in *request) (reply, error) {
	b, err := s.mine(in)
	if err != nil {
		return reply{}, err
	}
	var id int64
	if in.ID != "" {
		if id, err = strconv.ParseInt(in.ID, 10, 64); err != nil {
			return reply{}, ErrNotFound
		}
	} else if id, err = b.named(ctx, in.Filename); err != nil {
		return reply{}, err
	}
	if err := b.Delete(ctx, id); err != nil {
		return reply{}, err
	}
	return reply{text: fmt.Sprintf("✅ Successfully deleted document: %d", id)}, nil
}
