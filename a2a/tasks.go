package a2a

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/taskstore"

	"github.com/troupe-dev/troupe/project/converse"
)

// tasks keeps the tasks of an agent and a user on the shelf. What an answer has grown by
// is not kept piece by piece: the session's log has it, and the task has it whole when
// its status changes.
type tasks struct {
	server      *Server
	agent, user string

	mu   sync.Mutex
	live map[string]*liveTask // that this process works on
}

type liveTask struct{ version, kept int64 }

// A keptTask is a task on the shelf.
type keptTask struct {
	Task    *sdk.Task `json:"task"`
	Agent   string    `json:"agent"`
	Version int64     `json:"version"`
}

// A listing is a task in the list of a user's tasks.
type listing struct {
	ID      sdk.TaskID    `json:"id"`
	Context string        `json:"context"`
	State   sdk.TaskState `json:"state"`
	Updated time.Time     `json:"updated"`
}

// maxListed is how many tasks the list of a user and an agent has.
const maxListed = 500

// placeOf is the name on the shelf of what belongs to a user.
func placeOf(kind, user, name string) string {
	sum := sha256.Sum256([]byte(user))
	return "a2a/" + kind + "/" + base64.RawURLEncoding.EncodeToString(sum[:12]) + "/" + name
}

// Create implements [taskstore.Store].
func (t *tasks) Create(ctx context.Context, task *sdk.Task) (taskstore.TaskVersion, error) {
	err := t.server.shelf.Change(ctx, placeOf("task", t.user, string(task.ID)), func(before []byte) ([]byte, error) {
		if before != nil {
			return nil, taskstore.ErrTaskAlreadyExists
		}
		return json.Marshal(keptTask{task, t.agent, 1})
	})
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	t.live[string(task.ID)] = &liveTask{1, 1}
	t.mu.Unlock()
	return 1, t.list(ctx, task)
}

// Update implements [taskstore.Store].
func (t *tasks) Update(ctx context.Context, update *taskstore.UpdateRequest) (taskstore.TaskVersion, error) {
	id := string(update.Task.ID)
	joinPieces(update.Task)
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.live[id]
	if known == nil {
		known = &liveTask{int64(update.PrevVersion), int64(update.PrevVersion)}
	}
	if update.PrevVersion != taskstore.TaskVersionMissing && int64(update.PrevVersion) != known.version {
		return 0, taskstore.ErrConcurrentModification
	}
	next := liveTask{known.version + 1, known.kept}
	if piece, ok := update.Event.(*sdk.TaskArtifactUpdateEvent); !ok || !piece.Append && piece.LastChunk {
		err := t.server.shelf.Change(ctx, placeOf("task", t.user, id), func(before []byte) ([]byte, error) {
			var kept keptTask
			if before == nil {
				return nil, sdk.ErrTaskNotFound
			}
			if err := json.Unmarshal(before, &kept); err != nil {
				return nil, err
			}
			if update.PrevVersion != taskstore.TaskVersionMissing && kept.Version != known.kept {
				return nil, taskstore.ErrConcurrentModification // another server's
			}
			return json.Marshal(keptTask{update.Task, t.agent, next.version})
		})
		if err != nil {
			return 0, err
		}
		next.kept = next.version
	}
	t.live[id] = &next
	if update.Task.Status.State.Terminal() {
		delete(t.live, id)
	}
	if _, ok := update.Event.(*sdk.TaskStatusUpdateEvent); ok {
		return taskstore.TaskVersion(next.version), t.list(ctx, update.Task)
	}
	return taskstore.TaskVersion(next.version), nil
}

// joinPieces makes one part of the pieces in which the answer was told: clients show parts
// as paragraphs. The task is the caller's own copy, and what clients get is made of it.
func joinPieces(task *sdk.Task) {
	for _, artifact := range task.Artifacts {
		if artifact.ID != answerID || len(artifact.Parts) < 2 {
			continue
		}
		var whole strings.Builder
		for _, part := range artifact.Parts {
			whole.WriteString(part.Text())
		}
		artifact.Parts = sdk.ContentParts{textPart(whole.String())}
	}
}

// Get implements [taskstore.Store].
func (t *tasks) Get(ctx context.Context, id sdk.TaskID) (*taskstore.StoredTask, error) {
	data, err := t.server.shelf.Read(ctx, placeOf("task", t.user, string(id)))
	if err != nil {
		return nil, err
	}
	var kept keptTask
	if data == nil {
		return nil, sdk.ErrTaskNotFound
	}
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("task %s: %w", id, err)
	}
	if kept.Agent != t.agent {
		return nil, sdk.ErrTaskNotFound
	}
	t.mu.Lock()
	known := t.live[string(id)]
	t.mu.Unlock()
	if known != nil && known.kept == kept.Version {
		return &taskstore.StoredTask{Task: kept.Task, Version: taskstore.TaskVersion(known.version)}, nil
	}
	t.noteInterruption(ctx, kept.Task)
	return &taskstore.StoredTask{Task: kept.Task, Version: taskstore.TaskVersion(kept.Version)}, nil
}

// noteInterruption tells of a task that nobody works on any more that it has failed.
func (t *tasks) noteInterruption(ctx context.Context, task *sdk.Task) {
	if task.Status.State.Terminal() || task.Status.State == sdk.TaskStateInputRequired {
		return
	}
	if info, err := converse.Info(ctx, t.server.engine, task.ContextID, t.user); err == nil && info.Status == "running" {
		return // on another server
	}
	task.Status.State = sdk.TaskStateFailed
	task.Status.Message = sdk.NewMessageForTask(sdk.MessageRoleAgent, task, sdk.NewTextPart("The server was stopped while this was under way. Send the message again with the same contextId."))
}

// list notes how a task stands in the list of tasks, the latest first.
func (t *tasks) list(ctx context.Context, task *sdk.Task) error {
	return t.server.shelf.Change(ctx, placeOf("list", t.user, t.agent), func(before []byte) ([]byte, error) {
		var all []listing
		if before != nil {
			if err := json.Unmarshal(before, &all); err != nil {
				return nil, err
			}
		}
		all = slices.DeleteFunc(all, func(l listing) bool { return l.ID == task.ID })
		all = slices.Insert(all, 0, listing{task.ID, task.ContextID, task.Status.State, time.Now().UTC()})
		return json.Marshal(all[:min(len(all), maxListed)])
	})
}

// List implements [taskstore.Store].
func (t *tasks) List(ctx context.Context, req *sdk.ListTasksRequest) (*sdk.ListTasksResponse, error) {
	data, err := t.server.shelf.Read(ctx, placeOf("list", t.user, t.agent))
	if err != nil {
		return nil, err
	}
	var all []listing
	if data != nil {
		if err := json.Unmarshal(data, &all); err != nil {
			return nil, fmt.Errorf("the list of tasks: %w", err)
		}
	}
	all = slices.DeleteFunc(all, func(l listing) bool {
		return req.ContextID != "" && l.Context != req.ContextID || req.Status != "" && l.State != req.Status ||
			req.StatusTimestampAfter != nil && !l.Updated.After(*req.StatusTimestampAfter)
	})
	size := req.PageSize
	if size < 1 || size > 100 {
		size = 50
	}
	first, err := strconv.Atoi(orName(req.PageToken, "0"))
	if err != nil || first < 0 {
		return nil, fmt.Errorf("the page token %.20q: %w", req.PageToken, sdk.ErrInvalidParams)
	}
	out := &sdk.ListTasksResponse{Tasks: []*sdk.Task{}, TotalSize: len(all), PageSize: size}
	last := min(first+size, len(all))
	for _, l := range all[min(first, len(all)):last] {
		stored, err := t.Get(ctx, l.ID)
		if err != nil {
			return nil, err
		}
		out.Tasks = append(out.Tasks, trimmed(stored.Task, req))
	}
	if last < len(all) {
		out.NextPageToken = strconv.Itoa(last)
	}
	return out, nil
}

// trimmed leaves out of a task what was not asked for.
func trimmed(task *sdk.Task, req *sdk.ListTasksRequest) *sdk.Task {
	if !req.IncludeArtifacts {
		task.Artifacts = nil
	}
	if n := req.HistoryLength; n != nil && *n >= 0 && *n < len(task.History) {
		task.History = task.History[len(task.History)-*n:]
	}
	return task
}
