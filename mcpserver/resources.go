package mcpserver

import (
	"context"
	"net/url"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe/project/converse"
	"github.com/troupe-dev/troupe/transcript"
)

// The addresses of resources.
const (
	agentPrefix     = "troupe://agents/"
	skillPrefix     = "troupe://skills/"
	knowledgePrefix = "troupe://knowledge/"
	sessionPrefix   = "troupe://sessions/"
	filesInfix      = "/files/"
)

func sessionURI(session string) string { return sessionPrefix + session }

// fileURI is the address of a file in a session's folder. Slashes stay as they are.
func fileURI(session, name string) string {
	return sessionURI(session) + filesInfix + strings.ReplaceAll(url.PathEscape(name), "%2F", "/")
}

// addResources offers what can be read: what agents are told, skills, documents of the
// knowledge base, conversations and their files.
func (v *visitor) addResources(server *mcp.Server) {
	for _, a := range v.config.Project.Agents() {
		server.AddResource(&mcp.Resource{
			URI: agentPrefix + url.PathEscape(a.ID), Name: a.ID, Title: joined(a.Name, a.Title), MIMEType: "text/markdown",
			Description: "What the agent's model is told: " + firstOf(joined(a.Name, a.Title), a.Description),
		}, v.readAgent)
	}
	for _, s := range v.config.Project.Skills().List() {
		server.AddResource(&mcp.Resource{URI: skillPrefix + url.PathEscape(s.Name), Name: s.Name, Description: oneLine(s.Description), MIMEType: "text/markdown"}, v.readSkill)
	}
	own, embedded := v.config.Project.KnowledgeOf(v.base, v.user)
	if documents, err := own.Documents(context.Background()); err == nil && embedded {
		for _, d := range documents {
			server.AddResource(&mcp.Resource{
				URI: knowledgePrefix + strconv.FormatInt(d.ID, 10), Name: d.Name, Description: oneLine(d.Description), MIMEType: converse.MIMEType(d.Name), Size: int64(d.Size),
			}, v.readDocument)
		}
	}
	for _, t := range []struct {
		template, name, description, kind string
		read                              mcp.ResourceHandler
	}{
		{knowledgePrefix + "{id}", "document", "A document of the knowledge base, by its number.", "", v.readDocument},
		{sessionPrefix + "{session}", "conversation", "A conversation as a transcript.", "text/markdown", v.readSession},
		{sessionPrefix + "{session}" + filesInfix + "{+path}", "file", "A file that an agent has saved in a conversation.", "", v.readFile},
	} {
		server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: t.template, Name: t.name, Description: t.description, MIMEType: t.kind}, t.read)
	}
}

// after returns what follows a prefix of an address.
func after(uri, prefix string) (string, error) {
	rest, ok := strings.CutPrefix(uri, prefix)
	if !ok {
		return "", mcp.ResourceNotFoundError(uri)
	}
	name, err := url.PathUnescape(rest)
	if err != nil {
		return "", mcp.ResourceNotFoundError(uri)
	}
	return name, nil
}

// contents is a text, or, whatever the reason why there is none, that it is not there.
func contents(uri, text, kind string, err error) (*mcp.ReadResourceResult, error) {
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: kind, Text: text}}}, nil
}

func (v *visitor) readAgent(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, err := after(request.Params.URI, agentPrefix)
	if err != nil {
		return nil, err
	}
	if instructions, ok := v.config.Project.Instructions(id); ok {
		return contents(request.Params.URI, instructions, "text/markdown", nil)
	}
	d, err := v.config.Project.Definition(id)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(request.Params.URI)
	}
	parts, err := d.Prompt("")
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strings.TrimSpace(part.Text) + "\n\n")
	}
	return contents(request.Params.URI, b.String(), "text/markdown", nil)
}

func (v *visitor) readSkill(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := after(request.Params.URI, skillPrefix)
	if err != nil {
		return nil, err
	}
	document, err := v.config.Project.Skills().Load(ctx, name)
	if err != nil {
		return contents(request.Params.URI, "", "", err)
	}
	return contents(request.Params.URI, document.Content, "text/markdown", nil)
}

func (v *visitor) readDocument(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, err := after(request.Params.URI, knowledgePrefix)
	if err != nil {
		return nil, err
	}
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(request.Params.URI)
	}
	own, _ := v.config.Project.KnowledgeOf(v.base, v.user)
	document, err := own.Document(ctx, id)
	return contents(request.Params.URI, document.Content, converse.MIMEType(document.Name), err)
}

func (v *visitor) readSession(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	session, err := after(request.Params.URI, sessionPrefix)
	if err != nil {
		return nil, err
	}
	if _, err := converse.Info(ctx, v.engine, session, v.user); err != nil {
		return contents(request.Params.URI, "", "", err)
	}
	var b strings.Builder
	err = transcript.Write(&b, v.engine.Events(ctx, session, 0), transcript.Options{})
	return contents(request.Params.URI, b.String(), "text/markdown", err)
}

func (v *visitor) readFile(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	place, err := after(request.Params.URI, sessionPrefix)
	if err != nil {
		return nil, err
	}
	session, name, _ := strings.Cut(place, filesInfix)
	if _, err := converse.Info(ctx, v.engine, session, v.user); err != nil {
		return contents(request.Params.URI, "", "", err)
	}
	text, kind, err := converse.ReadFile(v.folders, session, name)
	return contents(request.Params.URI, text, kind, err)
}
