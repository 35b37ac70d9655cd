package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"

	"github.com/troupe-dev/troupe/server"
)

// pushTimeout is how long whoever wants to hear of a task has to take it in. The task
// waits for that.
const pushTimeout = 10 * time.Second

// A pusher tells whoever wants to hear of it how a task stands. What grows piece by piece
// and what merely says that it is at work is left out.
type pusher struct {
	client *http.Client
	log    *slog.Logger
}

// SendPush implements [push.Sender]. A task goes on whether or not it is heard of.
func (p *pusher) SendPush(ctx context.Context, config *sdk.PushConfig, event sdk.Event) error {
	if update, ok := event.(*sdk.TaskStatusUpdateEvent); !ok || update.Status.State == sdk.TaskStateWorking {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	if err := p.send(ctx, config, event); err != nil {
		p.log.Warn("push notification not sent", "task", event.TaskInfo().TaskID, "err", err)
	}
	return nil
}

func (p *pusher) send(ctx context.Context, config *sdk.PushConfig, event sdk.Event) error {
	data, err := json.Marshal(sdk.StreamResponse{Event: event})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.URL, bytes.NewReader(data))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if config.Token != "" {
		request.Header.Set("A2A-Notification-Token", config.Token)
	}
	if auth := config.Auth; auth != nil && auth.Credentials != "" && (strings.EqualFold(auth.Scheme, "Bearer") || strings.EqualFold(auth.Scheme, "Basic")) {
		request.Header.Set("Authorization", auth.Scheme+" "+auth.Credentials)
	}
	answer, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("the answer was %s", answer.Status)
	}
	return nil
}

// pushConfigs keeps on the shelf who wants to hear of a user's tasks.
type pushConfigs struct {
	shelf server.Shelf
	user  string
}

func (c *pushConfigs) change(ctx context.Context, task sdk.TaskID, change func([]*sdk.PushConfig) ([]*sdk.PushConfig, error)) error {
	return c.shelf.Change(ctx, placeOf("push", c.user, string(task)), func(before []byte) ([]byte, error) {
		var all []*sdk.PushConfig
		if before != nil {
			if err := json.Unmarshal(before, &all); err != nil {
				return nil, err
			}
		}
		all, err := change(all)
		if err != nil || len(all) == 0 {
			return nil, err
		}
		return json.Marshal(all)
	})
}

// maxPushes is how many addresses may hear of a task.
const maxPushes = 10

// Save implements [push.ConfigStore].
func (c *pushConfigs) Save(ctx context.Context, task sdk.TaskID, config *sdk.PushConfig) (*sdk.PushConfig, error) {
	if !strings.HasPrefix(config.URL, "https://") && !strings.HasPrefix(config.URL, "http://") {
		return nil, refuse(fmt.Sprintf("the url %.100q must begin with https://", config.URL))
	}
	saved := *config
	if saved.ID == "" {
		saved.ID = sdk.NewMessageID()
	}
	err := c.change(ctx, task, func(all []*sdk.PushConfig) ([]*sdk.PushConfig, error) {
		all = slices.DeleteFunc(all, func(other *sdk.PushConfig) bool { return other.ID == saved.ID })
		if len(all) >= maxPushes {
			return nil, refuse(fmt.Sprintf("a task is pushed to %d addresses at most", maxPushes))
		}
		return append(all, &saved), nil
	})
	return &saved, err
}

// Get implements [push.ConfigStore].
func (c *pushConfigs) Get(ctx context.Context, task sdk.TaskID, id string) (*sdk.PushConfig, error) {
	all, err := c.List(ctx, task)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(config *sdk.PushConfig) bool { return config.ID == id })
	if i < 0 {
		return nil, push.ErrPushConfigNotFound
	}
	return all[i], nil
}

// List implements [push.ConfigStore].
func (c *pushConfigs) List(ctx context.Context, task sdk.TaskID) ([]*sdk.PushConfig, error) {
	var all []*sdk.PushConfig
	data, err := c.shelf.Read(ctx, placeOf("push", c.user, string(task)))
	if err == nil && data != nil {
		err = json.Unmarshal(data, &all)
	}
	return all, err
}

// Delete implements [push.ConfigStore].
func (c *pushConfigs) Delete(ctx context.Context, task sdk.TaskID, id string) error {
	return c.change(ctx, task, func(all []*sdk.PushConfig) ([]*sdk.PushConfig, error) {
		return slices.DeleteFunc(all, func(config *sdk.PushConfig) bool { return config.ID == id }), nil
	})
}

// DeleteAll implements [push.ConfigStore].
func (c *pushConfigs) DeleteAll(ctx context.Context, task sdk.TaskID) error {
	return c.change(ctx, task, func([]*sdk.PushConfig) ([]*sdk.PushConfig, error) { return nil, nil })
}
