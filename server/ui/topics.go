package ui

// This file shows subscriptions and what was published, publishes, and makes, changes and ends subscriptions.

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/courier"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
)

// subscriptionRow is a subscription.
type subscriptionRow struct {
	api.Subscription
	To      string
	ToPath  string // of a page about where it goes; "": there is none
	Path    string // of its acts
	Queue   string // the address of its queue's page
	Waiting int64
	Status  *status // nil: nothing is to be said
	Paused  string  // by whom, and why
	Own     bool    // its queue is its own, and may be acted on here
}

// publicationRow is something that was published.
type publicationRow struct {
	api.Publication
	Status  status
	At      *moment
	Payload *payload
	Error   string
}

// topicsView is all about topics.
type topicsView struct {
	Rows         []subscriptionRow
	Publications []publicationRow
	Pattern      string // of the topics that are shown
	Next         string // the address of the next page of publications; "": there is none
	May          bool   // act
	Secret       string // that was made just now
	Of           string // whose it is
}

func (v *visit) subscriptionRow(s *courier.Standing) subscriptionRow {
	row := subscriptionRow{Subscription: ops.SubscriptionOf(&s.Subscription, s.Stats), Path: Base + "topics/" + url.PathEscape(s.Name), Own: s.Subscription.Queue == ""}
	row.To, row.Queue = visible(ops.SubscriptionTarget(&row.Subscription)), queuePath(row.Messages)
	if row.Workflow != nil {
		row.ToPath = Base + "workflows/" + url.PathEscape(row.Workflow.Name)
	}
	row.Waiting = row.Counts.Ready + row.Counts.Delayed + row.Counts.Parked
	switch p := row.Subscription.Paused; {
	case p != nil:
		row.Status = &status{"paused", warm, "‖"}
		row.Paused = human.Cut(visible(strings.TrimPrefix(strings.TrimSuffix("by "+p.By+": "+p.Reason, ": "), "by : ")), 300)
	case row.Counts.Dead > 0:
		row.Status = &status{"dead letters", bad, "!"}
	}
	return row
}

func topics(u *UI, v *visit) error { return drawTopics(u, v, "", "") }

// drawTopics shows all, and a secret that was made just now.
func drawTopics(u *UI, v *visit, of, secret string) error {
	s := spread.Of(u.world)
	all, err := courier.Standings(v.Context(), s)
	if err != nil {
		return err
	}
	query := v.URL.Query()
	p := &topicsView{May: v.may(Operator), Secret: secret, Of: of, Pattern: query.Get("topic")}
	for i := range all {
		p.Rows = append(p.Rows, v.subscriptionRow(&all[i]))
	}
	var page world.PublicationPage
	page.Publications, page.Cursor, err = withLast(query.Get("cursor"), messagesPage, func(cursor string, limit int) ([]world.Publication, string, error) {
		page, err := s.Topics.Publications(v.Context(), world.PublicationQuery{Topic: p.Pattern, Cursor: cursor, Limit: limit})
		return page.Publications, page.Cursor, err
	})
	if err != nil {
		return err
	}
	for i := range page.Publications {
		x := ops.PublicationOf(&page.Publications[i])
		row := publicationRow{Publication: x, Status: status{"spread", good, "●"}, At: v.moment(x.At), Payload: payloadOf(x.Payload, someBytes, ""), Error: human.Cut(visible(x.Error+x.Damage), 300)}
		switch {
		case x.Error != "":
			row.Status = status{"set aside", bad, "✗"}
		case !x.Spread && x.Due.After(v.now):
			row.Status = status{"delayed", warm, "○"}
		case !x.Spread:
			row.Status = status{"to be delivered", busy, "○"}
		}
		if x.Sealed != "" {
			row.Payload = encryptedPayload(x.Sealed, page.Publications[i].Payload)
		}
		p.Publications = append(p.Publications, row)
	}
	if page.Cursor != "" {
		p.Next = Base + "topics?" + url.Values{"topic": {p.Pattern}, "cursor": {page.Cursor}}.Encode()
	}
	v.draw(http.StatusOK, "topics", "Topics", p)
	return nil
}

func publish(u *UI, v *visit) error {
	in := api.Publish{Topic: v.Form.Get("topic"), Payload: []byte(v.Form.Get("payload")), DeliveryID: v.Form.Get("id")}
	if _, err := api.Do(v.Context(), u.api, api.PublishOp, in); err != nil {
		return err
	}
	v.redirect(Base + "topics?did=publish")
	return nil
}

func subscribe(u *UI, v *visit) error {
	in := api.Subscribe{
		Subscription: v.Form.Get("name"), Pattern: v.Form.Get("pattern"), Match: json.RawMessage(v.Form.Get("match")), Ordered: v.Form.Get("ordered") != "",
	}
	switch to := v.Form.Get("to"); v.Form.Get("kind") {
	case "queue":
		in.Queue = to
	case "workflow":
		in.Workflow = &api.SubscribeWorkflow{Name: to, Key: v.Form.Get("key")}
	case "endpoint":
		in.Endpoint = &api.SubscribeEndpoint{URL: to}
	default:
		return fmt.Errorf("%w: a subscription needs one of a queue, a workflow or an endpoint", world.ErrInvalid)
	}
	is, err := api.Do(v.Context(), u.api, api.SubscribeOp, in)
	if err != nil {
		return err
	}
	if is.Secret != "" {
		return drawTopics(u, v, in.Subscription, is.Secret)
	}
	v.redirect(Base + "topics?did=subscribe")
	return nil
}

func subscriptionAct(u *UI, v *visit) (err error) {
	name, act, did := v.PathValue("subscription"), v.PathValue("act"), "topic-"+v.PathValue("act")
	switch act {
	case "unsubscribe":
		did = act
		_, err = api.Do(v.Context(), u.api, api.UnsubscribeOp, api.Unsubscribe{Subscription: name})
	case "rotate":
		is, err := api.Do(v.Context(), u.api, api.RotateSecretOp, api.RotateSecret{Subscription: name})
		if err != nil {
			return err
		}
		return drawTopics(u, v, name, is.Secret)
	case "pause":
		_, err = api.Do(v.Context(), u.api, api.PauseSubscriptionOp, api.PauseSubscription{Subscription: name, Reason: v.Form.Get("reason")})
	case "resume":
		_, err = api.Do(v.Context(), u.api, api.ResumeSubscriptionOp, api.ResumeSubscription{Subscription: name})
	case "redeliver":
		_, err = api.Do(v.Context(), u.api, api.RedeliverOp, api.Redeliver{Subscription: name})
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	v.redirect(Base + "topics?did=" + did)
	return nil
}
