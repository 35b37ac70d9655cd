package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/sessionid"
)

// The routes of the original application answer in its shapes, and what is somebody
// else's is not there.
func TestClientsOfTheOriginalApplicationAreServed(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) {
		c.Greeter = func(string) (troupe.Input, bool) { return troupe.Input{Text: "[Opening] greet", Hidden: true}, true }
	})
	var begun initialized
	w.want(http.StatusOK, &begun, "POST", "/api/agent/initialize", initializing{AgentID: "clerk"})
	if !begun.Success || begun.Data.Greeting != "You said: [Opening] greet" || !sessionid.Is(begun.Data.ConversationID) {
		t.Errorf("it begins with %+v", begun)
	}
	w.want(http.StatusNotFound, nil, "POST", "/api/agent/initialize", initializing{AgentID: "nobody"})

	session := w.session()
	w.talk(session, "hello")
	w.write(session, "sub/notes.md", "# Notes")
	var list originalConversations
	w.want(http.StatusOK, &list, "GET", "/api/conversations", nil)
	if len(list.Conversations) != 2 || len(list.GroupedByAgent["clerk"]) != 2 || list.Conversations[0].AgentID != "clerk" || list.Conversations[0].MessageCount != 2 || list.Conversations[1].MessageCount != 1 {
		t.Errorf("conversations: %+v", list)
	}
	var talk originalTalk
	w.want(http.StatusOK, &talk, "GET", "/api/conversations/"+session+"/messages", nil)
	if len(talk.Messages) != 2 || talk.Messages[0].Role != "user" || talk.Messages[0].Content != "hello" || talk.Messages[1].Content != "You said: hello" || len(talk.Files) == 0 {
		t.Errorf("messages: %+v", talk)
	}
	w.want(http.StatusOK, &talk, "GET", "/api/conversations/"+begun.Data.ConversationID+"/messages", nil)
	if len(talk.Messages) != 1 || talk.Messages[0].Role != "assistant" {
		t.Errorf("what nobody said is shown: %+v", talk.Messages)
	}
	var content originalContent
	w.want(http.StatusOK, &content, "GET", "/api/files/content?path="+session+"/sub/notes.md", nil)
	if content.Content != "# Notes" || !strings.HasPrefix(content.MimeType, "text/markdown") || content.Size != 7 {
		t.Errorf("content: %+v", content)
	}
	for _, path := range []string{session + "/../" + begun.Data.ConversationID + "/manifest.json", session + "/gone.md", "00000000-0000-4000-8000-000000000009/x"} {
		w.want(http.StatusNotFound, nil, "GET", "/api/files/content?path="+path, nil)
	}
	w.want(http.StatusBadRequest, nil, "GET", "/api/files/content?path=/etc/passwd", nil)
	w.want(http.StatusMethodNotAllowed, nil, "DELETE", "/api/files/content?path=x", nil)
	var tree originalTree
	w.want(http.StatusOK, &tree, "GET", "/api/files/tree", nil)
	if !tree.Success || tree.Root.Type != "directory" {
		t.Errorf("tree: %+v", tree)
	}
	var health originalHealth
	w.want(http.StatusOK, &health, "GET", "/api/health", nil)
	if health.Status != "ok" || health.Timestamp.IsZero() {
		t.Errorf("health: %+v", health)
	}
	w.want(http.StatusNoContent, nil, "DELETE", "/api/conversations/"+session, nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/conversations/"+session+"/messages", nil)
}

func TestAConversationOfSomebodyElseIsNotThere(t *testing.T) {
	w := open(t, clerk(t, echo()), func(c *Config) { c.Users = map[string]string{"ann": tokenOfAnn, "bob": tokenOfBob} })
	w.token = tokenOfAnn
	session := w.session()
	w.talk(session, "hello")
	w.write(session, "notes.md", "# Notes")
	w.token = tokenOfBob
	var list originalConversations
	w.want(http.StatusOK, &list, "GET", "/api/conversations", nil)
	if len(list.Conversations) != 0 {
		t.Errorf("bob sees %+v", list)
	}
	w.want(http.StatusNotFound, nil, "GET", "/api/conversations/"+session+"/messages", nil)
	w.want(http.StatusNotFound, nil, "DELETE", "/api/conversations/"+session, nil)
	w.want(http.StatusNotFound, nil, "GET", "/api/files/content?path="+session+"/notes.md", nil)
	var tree originalTree
	w.want(http.StatusOK, &tree, "GET", "/api/files/tree", nil)
	if len(tree.Root.Children) != 0 {
		t.Errorf("bob sees %+v", tree.Root)
	}
	w.token = ""
	w.want(http.StatusUnauthorized, nil, "GET", "/api/conversations", nil)
	w.want(http.StatusUnauthorized, nil, "POST", "/api/agent/initialize", initializing{AgentID: "clerk"})
}
