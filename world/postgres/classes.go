package postgres

// Classes, that is workflows and versions, have small keys. They are few and never change, so each World remembers them for ever.

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	findClass   = load("find_class")
	insertClass = load("insert_class")
	nameOfClass = load("class_name")
)

// classes are those that this World knows.
//
//   - A class and its key name each other, for ever: nothing here is ever changed or forgotten.
type classes struct {
	db *database

	forgetful bool // nothing is remembered, as in a World that has just been opened: for tests

	mu    sync.RWMutex
	keys  map[world.Class]int32 // guarded by mu
	names map[int32]world.Class // guarded by mu
}

func (c *classes) init(db *database) { c.db = db }

func (c *classes) add(class world.Class, key int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgetful {
		return
	}
	if c.keys == nil {
		c.keys, c.names = make(map[world.Class]int32), make(map[int32]world.Class)
	}
	c.keys[class], c.names[key] = key, class
}

// known returns the key of a class that was seen before.
func (c *classes) known(class world.Class) (key int32, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	key, ok = c.keys[class]
	return key, ok
}

// key returns the key of a class, of a new one too. It may need a connection of the pool: who holds one calls keyIn.
func (c *classes) key(ctx context.Context, class world.Class) (int32, error) {
	if key, ok := c.known(class); ok {
		return key, nil
	}
	for {
		var key int32
		found := false
		if err := c.db.read(ctx, findClass, func(row pgx.Rows) error { found = true; return row.Scan(&key) }, class.Workflow, class.Version); err != nil {
			return 0, fmt.Errorf("workflow %s, version %d: %w", class.Workflow, class.Version, err)
		}
		if found {
			c.add(class, key)
			return key, nil
		}
		if err := c.db.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, c.db.sql(insertClass), class.Workflow, class.Version)
			return err
		}); err != nil {
			return 0, fmt.Errorf("workflow %s, version %d: %w", class.Workflow, class.Version, err)
		}
	}
}

// keyIn returns the key of a class in a transaction. A new class is not remembered: the transaction may be rolled back.
func (c *classes) keyIn(ctx context.Context, tx txn, class world.Class) (key int32, err error) {
	key, ok := c.known(class)
	for try := 0; err == nil && !ok; try++ {
		if try > 0 {
			if _, err = tx.exec(ctx, insertClass, class.Workflow, class.Version); err != nil {
				break
			}
		}
		err = tx.each(ctx, findClass, func(row scanner) error { ok = true; return row.Scan(&key) }, class.Workflow, class.Version)
	}
	if err != nil {
		return 0, fmt.Errorf("workflow %s, version %d: %w", class.Workflow, class.Version, err)
	}
	return key, nil
}

// learn makes the keys of a class known, and of those that events make a run.
func (c *classes) learn(ctx context.Context, class world.Class, events []world.Event) error {
	if _, err := c.key(ctx, class); err != nil {
		return err
	}
	r := run{class: class}
	for i := range events {
		switch e := &events[i]; e.Type {
		case world.RunStarted:
			r.reclass(e.Version)
		case world.RunContinued:
			r.reclass(e.Next.Version)
		default:
			continue
		}
		if _, err := c.key(ctx, r.class); err != nil {
			return err
		}
	}
	return nil
}

// name returns the class that has a key, or that of a run which is not to begin: see starts. It may need a connection
// of the pool.
func (c *classes) name(ctx context.Context, key int32) (class world.Class, err error) {
	key = max(key, -key)
	c.mu.RLock()
	class, ok := c.names[key]
	c.mu.RUnlock()
	if ok {
		return class, nil
	}
	found := false
	if err := c.db.read(ctx, nameOfClass, func(row pgx.Rows) error { found = true; return row.Scan(&class.Workflow, &class.Version) }, key); err != nil {
		return class, err
	}
	if !found {
		return class, fmt.Errorf("%w: class %d is unknown", world.ErrCorrupt, key)
	}
	c.add(class, key)
	return class, nil
}

// keysOf are the keys of classes.
func (c *classes) keysOf(ctx context.Context, classes []world.Class) ([]int32, error) {
	keys := make([]int32, len(classes))
	for i, class := range classes {
		key, err := c.key(ctx, class)
		if err != nil {
			return nil, err
		}
		keys[i] = key
	}
	return keys, nil
}
