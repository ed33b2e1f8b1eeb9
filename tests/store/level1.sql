BEGIN TRANSACTION;
CREATE TABLE chips (
	id INTEGER NOT NULL,
	ring INTEGER NOT NULL,
	logical INTEGER NOT NULL,
	card INTEGER NOT NULL,
	device INTEGER NOT NULL,
	model TEXT NOT NULL,
	bus TEXT NOT NULL,
	serial TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE commands (
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	reason TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (id)
);
CREATE TABLE containers (
	runtime TEXT NOT NULL,
	namespace TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	chips TEXT NOT NULL,
	claims TEXT NOT NULL,
	running BOOLEAN NOT NULL,
	run TEXT NOT NULL,
	exit_code INTEGER,
	exit_at TEXT,
	exit_asked BOOLEAN,
	grace_us INTEGER NOT NULL,
	strategy TEXT,
	"order" INTEGER NOT NULL,
	enabled BOOLEAN NOT NULL,
	restart_policy TEXT NOT NULL,
	auto_remove BOOLEAN NOT NULL,
	warnings TEXT NOT NULL,
	since TEXT,
	PRIMARY KEY (runtime, namespace, id)
);
CREATE TABLE episodes (
	number INTEGER NOT NULL,
	ring INTEGER,
	began TEXT NOT NULL,
	ended TEXT,
	outcome TEXT NOT NULL,
	cause TEXT NOT NULL,
	PRIMARY KEY (number)
);
CREATE TABLE faults (
	chip INTEGER NOT NULL,
	code TEXT NOT NULL,
	module TEXT NOT NULL,
	since TEXT NOT NULL,
	level TEXT NOT NULL,
	risen TEXT NOT NULL,
	changed TEXT NOT NULL,
	severity TEXT,
	count INTEGER NOT NULL,
	momentary BOOLEAN NOT NULL,
	cleared TEXT,
	PRIMARY KEY (chip, code, module, since)
);
CREATE TABLE holds (
	runtime TEXT NOT NULL,
	namespace TEXT NOT NULL,
	id TEXT NOT NULL,
	name TEXT NOT NULL,
	chips TEXT NOT NULL,
	episode INTEGER NOT NULL,
	since TEXT NOT NULL,
	state TEXT NOT NULL,
	run TEXT NOT NULL,
	died BOOLEAN NOT NULL,
	"order" INTEGER NOT NULL,
	grace_us INTEGER NOT NULL,
	restart_policy TEXT NOT NULL,
	disarmed BOOLEAN NOT NULL,
	failed BOOLEAN NOT NULL,
	tries INTEGER NOT NULL,
	retry_at TEXT,
	error TEXT NOT NULL,
	PRIMARY KEY (runtime, namespace, id)
);
INSERT INTO "holds" VALUES('docker','','c0ffee','web','[3]',1,'2026-03-01T03:00:00.000250+00:00','stopping','life 1',0,0,10000000,'',0,0,0,NULL,'');
CREATE TABLE isolations (
	chip INTEGER NOT NULL,
	since TEXT NOT NULL,
	"by" TEXT NOT NULL,
	reason TEXT NOT NULL,
	code TEXT,
	clean_since TEXT,
	PRIMARY KEY (chip)
);
CREATE TABLE meta (
	level INTEGER NOT NULL,
	version TEXT NOT NULL,
	created TEXT NOT NULL,
	serial INTEGER NOT NULL,
	episodes INTEGER NOT NULL
);
INSERT INTO "meta" VALUES(1,'0.1.0','2026-03-01T03:00:00.000000+00:00',7,1);
CREATE TABLE notes (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
	at TEXT NOT NULL,
	kind TEXT NOT NULL,
	episode INTEGER NOT NULL,
	ring INTEGER,
	chip INTEGER,
	runtime TEXT,
	namespace TEXT,
	container TEXT,
	outcome TEXT NOT NULL,
	text TEXT NOT NULL
);
CREATE TABLE resets (
	ring INTEGER NOT NULL,
	at TEXT NOT NULL,
	episode INTEGER NOT NULL,
	PRIMARY KEY (ring, at)
);
CREATE TABLE rings (
	id INTEGER NOT NULL,
	chips TEXT NOT NULL,
	phase TEXT NOT NULL,
	since TEXT,
	reason TEXT NOT NULL,
	deadline TEXT,
	episode INTEGER NOT NULL,
	began TEXT,
	resets TEXT NOT NULL,
	failures INTEGER NOT NULL,
	not_before TEXT,
	lulls TEXT NOT NULL,
	theirs TEXT NOT NULL,
	starts TEXT NOT NULL,
	blocked TEXT,
	widened BOOLEAN NOT NULL,
	PRIMARY KEY (id)
);
CREATE INDEX faults_by_cleared ON faults (cleared);
CREATE INDEX notes_by_episode ON notes (episode);
CREATE INDEX notes_by_at ON notes (at);
DELETE FROM "sqlite_sequence";
COMMIT;
