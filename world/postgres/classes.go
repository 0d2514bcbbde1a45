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

type classes struct {
	mu    sync.RWMutex
	keys  map[world.Class]int32
	names map[int32]world.Class
}

func (c *classes) add(class world.Class, key int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys, c.names = make(map[world.Class]int32), make(map[int32]world.Class)
	}
	c.keys[class], c.names[key] = key, class
}

// knownClass returns the key of a class that was seen before.
func (w *World) knownClass(c world.Class) (key int32, ok bool) {
	w.classes.mu.RLock()
	defer w.classes.mu.RUnlock()
	key, ok = w.classes.keys[c]
	return key, ok
}

// classKey returns the key of a class, of a new one too. It may need a connection of the pool: not to be called by who holds one.
func (w *World) classKey(ctx context.Context, c world.Class) (int32, error) {
	if key, ok := w.knownClass(c); ok {
		return key, nil
	}
	for {
		var key int32
		found := false
		if err := w.read(ctx, findClass, func(row pgx.Rows) error { found = true; return row.Scan(&key) }, c.Workflow, c.Version); err != nil {
			return 0, fmt.Errorf("workflow %s, version %d: %w", c.Workflow, c.Version, err)
		}
		if found {
			w.classes.add(c, key)
			return key, nil
		}
		if err := w.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, w.sql(insertClass), c.Workflow, c.Version)
			return err
		}); err != nil {
			return 0, fmt.Errorf("workflow %s, version %d: %w", c.Workflow, c.Version, err)
		}
	}
}

// className returns the class that has a key. It may need a connection of the pool.
func (w *World) className(ctx context.Context, key int32) (c world.Class, err error) {
	w.classes.mu.RLock()
	c, ok := w.classes.names[key]
	w.classes.mu.RUnlock()
	if ok {
		return c, nil
	}
	found := false
	if err := w.read(ctx, nameOfClass, func(row pgx.Rows) error { found = true; return row.Scan(&c.Workflow, &c.Version) }, key); err != nil {
		return c, err
	}
	if !found {
		return c, fmt.Errorf("%w: class %d is unknown", world.ErrCorrupt, key)
	}
	w.classes.add(c, key)
	return c, nil
}
