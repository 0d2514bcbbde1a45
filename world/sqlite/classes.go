package sqlite

import "github.com/stepwell/stepwell/world"

var (
	listClasses = load("list_classes")
	insertClass = load("insert_class")
	lastClass   = load("last_class")
)

// classes are workflows and versions, which have small keys.
//
//   - keys and names say the same; they are nil, or all that the file has.
//   - A key is never given twice, also where the row of its class is lost: last is none that is free again, though a
//     transaction be given up.
type classes struct {
	tx    *txn
	keys  map[world.Class]int64
	names map[int64]world.Class
	last  int64 // the last key that there ever was, as far as it is known; 0: not read yet
}

func (cs *classes) init(tx *txn) { cs.tx = tx }

// forget has the classes read anew.
func (cs *classes) forget() { cs.keys, cs.names = nil, nil }

// key returns the key of a class, new ones too.
func (cs *classes) key(c world.Class) (int64, error) {
	if err := cs.load(); err != nil {
		return 0, err
	}
	if key, ok := cs.keys[c]; ok {
		return key, nil
	}
	if cs.last == 0 {
		if _, err := cs.tx.one(lastClass, func(row row) error { cs.last = row.int(0); return nil }); err != nil {
			return 0, err
		}
	}
	key := cs.last + 1
	if err := cs.tx.exec(insertClass, key, c.Workflow, int64(c.Version)); err != nil {
		return 0, err
	}
	cs.last = key
	cs.keys[c], cs.names[key] = key, c
	return key, nil
}

// name returns the class that has a key.
func (cs *classes) name(key int64) (world.Class, error) {
	err := cs.load()
	return cs.names[key], err
}

// moved returns the class of another version of a workflow: the same one where that is 0.
func (cs *classes) moved(key int64, version int) (int64, error) {
	if version == 0 {
		return key, nil
	}
	c, err := cs.name(key)
	if err != nil {
		return 0, err
	}
	c.Version = version
	return cs.key(c)
}

func (cs *classes) load() error {
	if cs.keys != nil {
		return nil
	}
	classes, names := make(map[world.Class]int64), make(map[int64]world.Class)
	err := cs.tx.query(listClasses, func(row row) (bool, error) {
		c := world.Class{Workflow: row.text(1), Version: int(row.int(2))}
		classes[c], names[row.int(0)] = row.int(0), c
		if key := row.int(0); cs.last > 0 && key > cs.last && key < lastUsable { // another process's
			cs.last = key
		}
		return true, nil
	})
	if err == nil {
		cs.keys, cs.names = classes, names
	}
	return err
}
