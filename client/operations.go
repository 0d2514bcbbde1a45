package client

// This file is made of the table of package api: go test ./client -run TestOperations -update

import (
	"context"

	"github.com/stepwell/stepwell/api"
)

// AckMessages is POST /v1/queues/{queue}/ack, for a key of scope operator. Acknowledge messages:
// their work is done, and they are deleted.
func (c *Client) AckMessages(ctx context.Context, in api.AckMessages) (api.Settled, error) {
	return api.Do(ctx, c, api.AckMessagesOp, in)
}

// BackfillSchedule is POST /v1/schedules/{schedule}/backfill, for a key of scope operator. Start
// the runs of past times that have none.
func (c *Client) BackfillSchedule(ctx context.Context, in api.BackfillSchedule) (api.BackfilledSchedule, error) {
	return api.Do(ctx, c, api.BackfillScheduleOp, in)
}

// BuryMessages is POST /v1/queues/{queue}/bury, for a key of scope operator. Make messages dead
// letters.
func (c *Client) BuryMessages(ctx context.Context, in api.BuryMessages) (api.Settled, error) {
	return api.Do(ctx, c, api.BuryMessagesOp, in)
}

// CancelRun is DELETE /v1/workflows/{workflow}/runs/{run}, for a key of scope operator. Ask a run
// to end.
func (c *Client) CancelRun(ctx context.Context, in api.CancelRun) (api.Run, error) {
	return api.Do(ctx, c, api.CancelRunOp, in)
}

// DeclareQueue is PUT /v1/queues/{queue}, for a key of scope operator. Create a queue, or change
// its settings.
func (c *Client) DeclareQueue(ctx context.Context, in api.DeclareQueue) (api.MessageQueue, error) {
	return api.Do(ctx, c, api.DeclareQueueOp, in)
}

// DeleteSchedule is DELETE /v1/schedules/{schedule}, for a key of scope operator. Delete a
// schedule; its runs stay.
func (c *Client) DeleteSchedule(ctx context.Context, in api.DeleteSchedule) error {
	_, err := api.Do(ctx, c, api.DeleteScheduleOp, in)
	return err
}

// DropQueue is DELETE /v1/queues/{queue}, for a key of scope operator. Delete a queue that has no
// messages.
func (c *Client) DropQueue(ctx context.Context, in api.DropQueue) error {
	_, err := api.Do(ctx, c, api.DropQueueOp, in)
	return err
}

// ExtendMessages is POST /v1/queues/{queue}/extend, for a key of scope operator. Keep messages
// hidden from others for longer, counted from now.
func (c *Client) ExtendMessages(ctx context.Context, in api.ExtendMessages) (api.Settled, error) {
	return api.Do(ctx, c, api.ExtendMessagesOp, in)
}

// ForkRun is POST /v1/workflows/{workflow}/runs/{run}/fork, for a key of scope operator. Start a
// new run from any event of another.
func (c *Client) ForkRun(ctx context.Context, in api.ForkRun) (api.StartedRun, error) {
	return api.Do(ctx, c, api.ForkRunOp, in)
}

// GetLimit is GET /v1/limits/{limit}, for a key of scope viewer. Show a limit and the state of its
// keys.
func (c *Client) GetLimit(ctx context.Context, in api.GetLimit) (api.LimitPage, error) {
	return api.Do(ctx, c, api.GetLimitOp, in)
}

// GetQueue is GET /v1/queues/{queue}, for a key of scope viewer. Show a queue, and how many
// messages it has.
func (c *Client) GetQueue(ctx context.Context, in api.GetQueue) (api.MessageQueue, error) {
	return api.Do(ctx, c, api.GetQueueOp, in)
}

// GetRun is GET /v1/workflows/{workflow}/runs/{run}, for a key of scope viewer. Show a run, or wait
// for its result.
func (c *Client) GetRun(ctx context.Context, in api.GetRun) (api.Run, error) {
	return api.Do(ctx, c, api.GetRunOp, in)
}

// GetSchedule is GET /v1/schedules/{schedule}, for a key of scope viewer. Show a schedule in words,
// with its next ten times.
func (c *Client) GetSchedule(ctx context.Context, in api.GetSchedule) (api.Schedule, error) {
	return api.Do(ctx, c, api.GetScheduleOp, in)
}

// GetSubscription is GET /v1/subscriptions/{subscription}, for a key of scope viewer. Show a
// subscription and the state of its queue.
func (c *Client) GetSubscription(ctx context.Context, in api.GetSubscription) (api.Subscription, error) {
	return api.Do(ctx, c, api.GetSubscriptionOp, in)
}

// HoldWorkflow is POST /v1/workflows/{workflow}/hold, for a key of scope operator. Hold a workflow:
// its starts are accepted, but its runs do not begin until you release it.
func (c *Client) HoldWorkflow(ctx context.Context, in api.HoldWorkflow) (api.Holds, error) {
	return api.Do(ctx, c, api.HoldWorkflowOp, in)
}

// ListHolds is GET /v1/holds, for a key of scope viewer. List the held workflows.
func (c *Client) ListHolds(ctx context.Context, in api.ListHolds) (api.Holds, error) {
	return api.Do(ctx, c, api.ListHoldsOp, in)
}

// ListLimitHolders is GET /v1/limits/{limit}/holders, for a key of scope viewer. List what holds
// the places of a key of a limit.
func (c *Client) ListLimitHolders(ctx context.Context, in api.ListLimitHolders) (api.LimitHolders, error) {
	return api.Do(ctx, c, api.ListLimitHoldersOp, in)
}

// ListLimits is GET /v1/limits, for a key of scope viewer. List the limits.
func (c *Client) ListLimits(ctx context.Context, in api.ListLimits) (api.Limits, error) {
	return api.Do(ctx, c, api.ListLimitsOp, in)
}

// ListPublications is GET /v1/publications, for a key of scope viewer. List publications, newest
// first; each is kept for at least a day.
func (c *Client) ListPublications(ctx context.Context, in api.ListPublications) (api.PublicationPage, error) {
	return api.Do(ctx, c, api.ListPublicationsOp, in)
}

// ListQueues is GET /v1/queues, for a key of scope viewer. List the queues, and how many messages
// each has.
func (c *Client) ListQueues(ctx context.Context, in api.ListQueues) (api.MessageQueues, error) {
	return api.Do(ctx, c, api.ListQueuesOp, in)
}

// ListRuns is GET /v1/workflows/{workflow}/runs, for a key of scope viewer. List the runs of a
// workflow.
func (c *Client) ListRuns(ctx context.Context, in api.ListRuns) (api.RunPage, error) {
	return api.Do(ctx, c, api.ListRunsOp, in)
}

// ListSchedules is GET /v1/schedules, for a key of scope viewer. List the schedules, with their
// next times.
func (c *Client) ListSchedules(ctx context.Context, in api.ListSchedules) (api.SchedulePage, error) {
	return api.Do(ctx, c, api.ListSchedulesOp, in)
}

// ListSubscriptions is GET /v1/subscriptions, for a key of scope viewer. List the subscriptions,
// and the state of their queues.
func (c *Client) ListSubscriptions(ctx context.Context, in api.ListSubscriptions) (api.Subscriptions, error) {
	return api.Do(ctx, c, api.ListSubscriptionsOp, in)
}

// NackMessages is POST /v1/queues/{queue}/nack, for a key of scope operator. Give messages back, to
// be received again at once or later.
func (c *Client) NackMessages(ctx context.Context, in api.NackMessages) (api.Settled, error) {
	return api.Do(ctx, c, api.NackMessagesOp, in)
}

// PauseQueue is POST /v1/queues/{queue}/pause, for a key of scope operator. Stop receives from a
// queue until you resume it.
func (c *Client) PauseQueue(ctx context.Context, in api.PauseQueue) (api.MessageQueue, error) {
	return api.Do(ctx, c, api.PauseQueueOp, in)
}

// PauseRun is POST /v1/workflows/{workflow}/runs/{run}/pause, for a key of scope operator. Stop a
// run until you resume it.
func (c *Client) PauseRun(ctx context.Context, in api.PauseRun) (api.Run, error) {
	return api.Do(ctx, c, api.PauseRunOp, in)
}

// PauseSchedule is POST /v1/schedules/{schedule}/pause, for a key of scope operator. Stop a
// schedule from starting runs until you resume it.
func (c *Client) PauseSchedule(ctx context.Context, in api.PauseSchedule) (api.Schedule, error) {
	return api.Do(ctx, c, api.PauseScheduleOp, in)
}

// PauseSubscription is POST /v1/subscriptions/{subscription}/pause, for a key of scope operator.
// Stop the deliveries of a subscription until you resume it.
func (c *Client) PauseSubscription(ctx context.Context, in api.PauseSubscription) (api.Subscription, error) {
	return api.Do(ctx, c, api.PauseSubscriptionOp, in)
}

// PeekMessages is GET /v1/queues/{queue}/messages, for a key of scope viewer. Look at the messages
// of a queue in the order in which they were sent, without changing anything.
func (c *Client) PeekMessages(ctx context.Context, in api.PeekMessages) (api.MessagePage, error) {
	return api.Do(ctx, c, api.PeekMessagesOp, in)
}

// Publish is POST /v1/topics/{topic}, for a key of scope operator. Publish under a topic, to all of
// its current subscriptions.
func (c *Client) Publish(ctx context.Context, in api.Publish) (api.SentMessage, error) {
	return api.Do(ctx, c, api.PublishOp, in)
}

// PurgeQueue is POST /v1/queues/{queue}/purge, for a key of scope operator. Delete the messages of
// a queue, those that are out too, or its dead letters alone.
func (c *Client) PurgeQueue(ctx context.Context, in api.PurgeQueue) (api.QueueChanged, error) {
	return api.Do(ctx, c, api.PurgeQueueOp, in)
}

// PutSchedule is PUT /v1/schedules/{schedule}, for a key of scope operator. Create a schedule, or
// change its settings.
func (c *Client) PutSchedule(ctx context.Context, in api.PutSchedule) (api.Schedule, error) {
	return api.Do(ctx, c, api.PutScheduleOp, in)
}

// ReceiveMessages is POST /v1/queues/{queue}/receive, for a key of scope operator. Receive messages
// that are ready, or wait for some; a message that is not settled in time is received again.
func (c *Client) ReceiveMessages(ctx context.Context, in api.ReceiveMessages) (api.ReceivedMessages, error) {
	return api.Do(ctx, c, api.ReceiveMessagesOp, in)
}

// Redeliver is POST /v1/subscriptions/{subscription}/redeliver, for a key of scope operator.
// Deliver dead letters of a subscription again, all or some.
func (c *Client) Redeliver(ctx context.Context, in api.Redeliver) (api.QueueChanged, error) {
	return api.Do(ctx, c, api.RedeliverOp, in)
}

// RedriveQueue is POST /v1/queues/{queue}/redrive, for a key of scope operator. Turn dead letters
// back into messages, all or some.
func (c *Client) RedriveQueue(ctx context.Context, in api.RedriveQueue) (api.QueueChanged, error) {
	return api.Do(ctx, c, api.RedriveQueueOp, in)
}

// ReleaseWorkflow is POST /v1/workflows/{workflow}/release, for a key of scope operator. Let the
// runs of a held workflow begin.
func (c *Client) ReleaseWorkflow(ctx context.Context, in api.ReleaseWorkflow) (api.Holds, error) {
	return api.Do(ctx, c, api.ReleaseWorkflowOp, in)
}

// RestartRun is POST /v1/workflows/{workflow}/runs/{run}/restart, for a key of scope operator.
// Start a new run with the input of another.
func (c *Client) RestartRun(ctx context.Context, in api.RestartRun) (api.StartedRun, error) {
	return api.Do(ctx, c, api.RestartRunOp, in)
}

// ResumeQueue is POST /v1/queues/{queue}/resume, for a key of scope operator. Allow receives from a
// paused queue again.
func (c *Client) ResumeQueue(ctx context.Context, in api.ResumeQueue) (api.MessageQueue, error) {
	return api.Do(ctx, c, api.ResumeQueueOp, in)
}

// ResumeRun is POST /v1/workflows/{workflow}/runs/{run}/resume, for a key of scope operator. Let a
// paused run continue.
func (c *Client) ResumeRun(ctx context.Context, in api.ResumeRun) (api.Run, error) {
	return api.Do(ctx, c, api.ResumeRunOp, in)
}

// ResumeSchedule is POST /v1/schedules/{schedule}/resume, for a key of scope operator. Resume a
// schedule from its next time.
func (c *Client) ResumeSchedule(ctx context.Context, in api.ResumeSchedule) (api.Schedule, error) {
	return api.Do(ctx, c, api.ResumeScheduleOp, in)
}

// ResumeSubscription is POST /v1/subscriptions/{subscription}/resume, for a key of scope operator.
// Resume the deliveries of a subscription.
func (c *Client) ResumeSubscription(ctx context.Context, in api.ResumeSubscription) (api.Subscription, error) {
	return api.Do(ctx, c, api.ResumeSubscriptionOp, in)
}

// RetryRun is POST /v1/workflows/{workflow}/runs/{run}/retry, for a key of scope operator. Continue
// a failed run from the step that failed, in a new run.
func (c *Client) RetryRun(ctx context.Context, in api.RetryRun) (api.StartedRun, error) {
	return api.Do(ctx, c, api.RetryRunOp, in)
}

// RotateSecret is POST /v1/subscriptions/{subscription}/rotate-secret, for a key of scope operator.
// Create a new secret for a subscription's endpoint; the previous one is valid until the next
// rotation.
func (c *Client) RotateSecret(ctx context.Context, in api.RotateSecret) (api.NewSecret, error) {
	return api.Do(ctx, c, api.RotateSecretOp, in)
}

// SendMessages is POST /v1/queues/{queue}/messages, for a key of scope operator. Send a message to
// a queue, or up to 1,000, all or none.
func (c *Client) SendMessages(ctx context.Context, in api.SendMessages) (api.Sent, error) {
	return api.Do(ctx, c, api.SendMessagesOp, in)
}

// SetLimit is PUT /v1/limits/{limit}, for a key of scope operator. Set how many of a key may be at
// work at once, or begin in a period, instead of the number in the code.
func (c *Client) SetLimit(ctx context.Context, in api.SetLimit) (api.Limit, error) {
	return api.Do(ctx, c, api.SetLimitOp, in)
}

// SignalRun is POST /v1/workflows/{workflow}/runs/{run}/signals/{event}, for a key of scope
// operator. Send an event to a run.
func (c *Client) SignalRun(ctx context.Context, in api.SignalRun) (api.Accepted, error) {
	return api.Do(ctx, c, api.SignalRunOp, in)
}

// StartRun is POST /v1/workflows/{workflow}/runs, for a key of scope operator. Start a run.
func (c *Client) StartRun(ctx context.Context, in api.StartRun) (api.StartedRun, error) {
	return api.Do(ctx, c, api.StartRunOp, in)
}

// Subscribe is PUT /v1/subscriptions/{subscription}, for a key of scope operator. Create a
// subscription, or change its settings.
func (c *Client) Subscribe(ctx context.Context, in api.Subscribe) (api.Subscribed, error) {
	return api.Do(ctx, c, api.SubscribeOp, in)
}

// TriggerSchedule is POST /v1/schedules/{schedule}/trigger, for a key of scope operator. Start one
// run of a schedule now, in addition to its times.
func (c *Client) TriggerSchedule(ctx context.Context, in api.TriggerSchedule) (api.TriggeredSchedule, error) {
	return api.Do(ctx, c, api.TriggerScheduleOp, in)
}

// Unsubscribe is DELETE /v1/subscriptions/{subscription}, for a key of scope operator. End a
// subscription, and delete the unprocessed messages in its own queue.
func (c *Client) Unsubscribe(ctx context.Context, in api.Unsubscribe) error {
	_, err := api.Do(ctx, c, api.UnsubscribeOp, in)
	return err
}

// WakeRun is POST /v1/workflows/{workflow}/runs/{run}/wake, for a key of scope operator. End the
// retry delays and sleeps of a run now, or those that are named, or its start delay.
func (c *Client) WakeRun(ctx context.Context, in api.WakeRun) (api.Woken, error) {
	return api.Do(ctx, c, api.WakeRunOp, in)
}
