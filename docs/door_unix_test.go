//go:build unix

package docs_test

// The page about SQL as a door: its grants, its trigger, and what they do.

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

const doorPage = "docs/sql.md"

// TestDoorSQL runs every block: the owner's up to the trigger, and what follows as the role that was granted what the
// page says.
func TestDoorSQL(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	w, err := stepwell.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if err := w.Messages().DeclareQueue(t.Context(), world.MessageQueue{Name: "mails"}); err != nil {
		t.Fatal(err)
	}
	c, err := pgx.Connect(t.Context(), pgtest.Shared(t).AdminURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(context.Background()) }()
	role := "shop_" + strings.TrimPrefix(c.Config().Database, "sw_")
	do := func(sql string) {
		t.Helper()
		if _, err := c.Exec(context.Background(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	do("CREATE ROLE " + role)
	defer do(fmt.Sprintf("RESET ROLE; DROP OWNED BY %s; DROP ROLE %[1]s", role))
	n := 0
	for _, b := range blocks(t) {
		if b.page != doorPage || b.lang != "pgsql" {
			continue
		}
		if n++; strings.HasPrefix(b.code, "INSERT") {
			do("SET ROLE " + role)
		}
		do(strings.ReplaceAll(b.code, "TO shop;", "TO "+role+";"))
	}
	if n != 4 {
		t.Errorf("got %d blocks, want 4", n)
	}
	run, err := w.Run(t.Context(), "order-1")
	if err != nil || run.Workflow != "ship" || run.Queue.Mail != 1 {
		t.Errorf("got %+v, %v; want a run with an event", run, err)
	}
	var order struct {
		Customer string
		Paid     bool
	}
	published, err := w.Topics().Publications(t.Context(), world.PublicationQuery{Topic: "order.paid"})
	if err != nil || len(published.Publications) != 1 || json.Unmarshal(published.Publications[0].Payload, &order) != nil || order.Customer != "ann" || !order.Paid {
		t.Errorf("got %+v, %v; want what was published", published, err)
	}
	sent, err := w.Messages().PeekMessages(t.Context(), world.PeekQuery{Queue: "mails"})
	if err != nil || !slices.ContainsFunc(sent.Messages, func(m world.Message) bool { return m.Headers["lang"] == "en" }) {
		t.Errorf("got %+v, %v; want a message", sent, err)
	}
}
