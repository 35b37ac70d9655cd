package temporal

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/troupe-dev/troupe/schedule"
)

const schedulePrefix = "troupe-schedule-"

// scheduleID is the id of a schedule in the cluster. One that was removed and added
// again is another.
func scheduleID(s schedule.Schedule) string {
	return schedulePrefix + s.Name + "-" + strconv.FormatInt(s.Created.UnixMilli(), 36)
}

var overlaps = map[schedule.Overlap]enumspb.ScheduleOverlapPolicy{
	"":              enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
	schedule.Skip:   enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
	schedule.Buffer: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ONE,
	schedule.Allow:  enumspb.SCHEDULE_OVERLAP_POLICY_ALLOW_ALL,
	schedule.Cancel: enumspb.SCHEDULE_OVERLAP_POLICY_CANCEL_OTHER,
}

// leastCatchUp is the shortest time for which Temporal makes up for what it missed.
const leastCatchUp = 10 * time.Second

// SyncSchedules makes the schedules of a project those of the cluster, too: what is missing
// is made, and what is no more is removed. The schedule's name is all that the cluster
// has of what is run. Each is carried out by the workers of its queue: the usual one where queueOf
// is nil.
func SyncSchedules(ctx context.Context, c client.Client, all []schedule.Schedule, queueOf func(schedule.Schedule) string) error {
	wanted := map[string]bool{}
	for _, s := range all {
		wanted[scheduleID(s)] = true
		queue := ""
		if queueOf != nil {
			queue = queueOf(s)
		}
		if err := createSchedule(ctx, c, s, queue); err != nil {
			return err
		}
	}
	list, err := c.ScheduleClient().List(ctx, client.ScheduleListOptions{})
	if err != nil {
		return fmt.Errorf("list schedules: %w", Explain(err))
	}
	for list.HasNext() {
		entry, err := list.Next()
		if err != nil {
			return fmt.Errorf("list schedules: %w", Explain(err))
		}
		if !strings.HasPrefix(entry.ID, schedulePrefix) || wanted[entry.ID] {
			continue
		}
		if err := c.ScheduleClient().GetHandle(ctx, entry.ID).Delete(ctx); err != nil {
			return fmt.Errorf("remove schedule %s: %w", entry.ID, Explain(err))
		}
	}
	return nil
}

func createSchedule(ctx context.Context, c client.Client, s schedule.Schedule, queue string) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:      scheduleID(s),
		Spec:    specOf(s),
		Overlap: overlaps[s.Overlap], CatchupWindow: max(s.CatchUp, leastCatchUp),
		Action: &client.ScheduleWorkflowAction{ID: scheduleID(s), Workflow: scheduledWorkflow, Args: []any{s.Name}, TaskQueue: QueueName(queue)},
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("add schedule %s: %w", s.Name, Explain(err))
	}
	return nil
}

// specOf says when a schedule is due, before it was added as well: such times are carried out
// where they are asked for. Temporal counts intervals from 1970, and the schedule from when it was added.
func specOf(s schedule.Schedule) client.ScheduleSpec {
	if every := s.Every(); every > 0 {
		return client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every, Offset: time.Duration(s.Created.Unix()) * time.Second % every}}}
	}
	return client.ScheduleSpec{CronExpressions: []string{s.Cron}, TimeZoneName: s.Zone}
}

// BackfillSchedule has the times of a schedule between two others carried out, one after the other.
func BackfillSchedule(ctx context.Context, c client.Client, s schedule.Schedule, from, until time.Time) error {
	err := c.ScheduleClient().GetHandle(ctx, scheduleID(s)).Backfill(ctx, client.ScheduleBackfillOptions{Backfill: []client.ScheduleBackfill{
		{Start: from.Add(-time.Nanosecond), End: until, Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_BUFFER_ALL},
	}})
	if err != nil {
		return fmt.Errorf("backfill schedule %s: %w", s.Name, Explain(err))
	}
	return nil
}
