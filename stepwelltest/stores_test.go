package stepwelltest_test

// This file has what the kit's own tests run on: each store, for the same promises.

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

// stored is a store that is not memory.
type stored struct {
	name string
	make func(t *testing.T) stepwelltest.Store
}

// everywhere runs a test in memory, and on one of the other stores, or with -sample.all on all of them.
func everywhere(t *testing.T, test func(t *testing.T, on stepwelltest.Store)) {
	t.Helper()
	for _, s := range append(sample.One(t,
		stored{"sqlite", func(*testing.T) stepwelltest.Store { return sqlitetest.Store() }},
		stored{"postgres", func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) }},
	), stored{"memory", func(*testing.T) stepwelltest.Store { return nil }}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			test(t, s.make(t))
		})
	}
}

func newOn(t testing.TB, on stepwelltest.Store, definitions ...stepwell.Definition) *stepwelltest.Env {
	t.Helper()
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: stepwell.Config{Definitions: definitions}, Store: on})
}

// newReal is an environment whose steps run their own bodies, on a store.
func newReal(t testing.TB, on stepwelltest.Store, definitions ...stepwell.Definition) *stepwelltest.Env {
	t.Helper()
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: stepwell.Config{Definitions: definitions}, Store: on, RealSteps: true})
}

// A database is as it was when the test is over: no schema is left.
func TestPostgresIsLeftAsItWas(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	t.Run("kit", func(t *testing.T) {
		env := newOnboard(t, postgrestest.Store(url))
		stepwelltest.Start(env, onboard, signup{"a@b.c"}).MustComplete()
	})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var left int
	if err := conn.QueryRow(t.Context(), "select count(*) from pg_namespace where nspname like 'stepwell%'").Scan(&left); err != nil || left != 0 {
		t.Errorf("%d schemas are left, %v", left, err)
	}
}

// Without a database a test fails with what is wrong, and does not hang.
func TestNoDatabase(t *testing.T) {
	t.Parallel()
	rec := new(recorder).run(func(t testing.TB) { newOn(t, postgrestest.Store("file.db"), onboard) })
	if !strings.Contains(rec, "postgres://user@host/db") {
		t.Errorf("the test failed with %q", rec)
	}
}
