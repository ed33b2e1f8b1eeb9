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
INSERT INTO "chips" VALUES(3,0,1,2,3,'910B','0000:c1:00.0','S1');
CREATE TABLE commands (
	id TEXT NOT NULL,
	kind TEXT NOT NULL,
	subject TEXT NOT NULL,
	reason TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "commands" VALUES('s77','StopContainer','container web','a fault','2026-03-01T03:00:00.000000+00:00');
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
INSERT INTO "containers" VALUES('docker','','c0ffee','web','[3,10]','["10","3"]',1,'life 2',137,'2026-03-01T03:00:00.000250+00:00',1,12500000,'ringRecover',7,0,'on-failure:3',1,'["a label"]','2026-03-01T03:00:00.000250+00:00');
INSERT INTO "containers" VALUES('containerd','default','web-2','web','[3,10]','["10","3"]',1,'life 2',0,'2026-03-01T03:00:00.000250+00:00',NULL,12500000,NULL,7,0,'on-failure:3',1,'["a label"]',NULL);
INSERT INTO "containers" VALUES('containerd','default','new','new','[]','[]',0,'',NULL,NULL,NULL,10000000,NULL,0,1,'',0,'[]',NULL);
CREATE TABLE episodes (
	number INTEGER NOT NULL,
	ring INTEGER,
	began TEXT NOT NULL,
	ended TEXT,
	outcome TEXT NOT NULL,
	cause TEXT NOT NULL,
	PRIMARY KEY (number)
);
INSERT INTO "episodes" VALUES(4,0,'2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','recovered','chip 3: 80E01801');
INSERT INTO "episodes" VALUES(5,0,'2026-03-01T03:03:00.000250+00:00',NULL,'','chip 3: again');
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
INSERT INTO "faults" VALUES(3,'80E01801','1/2','2026-03-01T03:00:00.000250+00:00','RestartNPU','2026-03-01T03:03:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','major',3,1,NULL);
CREATE TABLE healings (
	runtime TEXT NOT NULL,
	namespace TEXT NOT NULL,
	id TEXT NOT NULL,
	times TEXT NOT NULL,
	life TEXT,
	since TEXT,
	due TEXT,
	counted BOOLEAN NOT NULL,
	spared BOOLEAN NOT NULL,
	given_up TEXT,
	PRIMARY KEY (runtime, namespace, id)
);
INSERT INTO "healings" VALUES('docker','','c0ffee','["2026-03-01T03:00:00.000250+00:00","2026-03-01T03:03:00.000250+00:00"]','life 1','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00',1,1,'2026-03-01T03:03:00.000250+00:00');
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
	cause TEXT NOT NULL,
	PRIMARY KEY (runtime, namespace, id)
);
INSERT INTO "holds" VALUES('docker','','c0ffee','web','[3]',5,'2026-03-01T03:00:00.000250+00:00','stopped','life 1',1,7,12500000,'always',1,1,2,'2026-03-01T03:03:00.000250+00:00','no','heal');
CREATE TABLE isolations (
	chip INTEGER NOT NULL,
	since TEXT NOT NULL,
	"by" TEXT NOT NULL,
	reason TEXT NOT NULL,
	code TEXT,
	clean_since TEXT,
	PRIMARY KEY (chip)
);
INSERT INTO "isolations" VALUES(3,'2026-03-01T03:00:00.000250+00:00','operator','smells','00000001','2026-03-01T03:03:00.000250+00:00');
CREATE TABLE meta (
	level INTEGER NOT NULL,
	version TEXT NOT NULL,
	created TEXT NOT NULL,
	serial INTEGER NOT NULL,
	episodes INTEGER NOT NULL
);
INSERT INTO "meta" VALUES(2,'0.1.0','2026-03-01T03:00:00.000000+00:00',77,5);
CREATE TABLE modes (
	mode TEXT NOT NULL,
	since TEXT NOT NULL,
	until TEXT,
	who TEXT NOT NULL,
	PRIMARY KEY (mode)
);
INSERT INTO "modes" VALUES('maintenance','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','root');
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
INSERT INTO "notes" VALUES(1,'2026-03-01T03:00:00.000250+00:00','opened',4,0,3,'docker','','c0ffee','','chip 3: 80E01801');
INSERT INTO "notes" VALUES(2,'2026-03-01T03:03:00.000250+00:00','closed',4,0,3,'docker','','c0ffee','recovered','recovered');
INSERT INTO "notes" VALUES(3,'2026-03-01T03:03:00.000250+00:00','opened',5,0,3,'docker','','c0ffee','','chip 3: again');
INSERT INTO "notes" VALUES(4,'2026-03-01T03:03:00.000250+00:00','warning',0,NULL,NULL,NULL,NULL,NULL,'','of nothing in particular');
CREATE TABLE outcomes (
	outcome TEXT NOT NULL,
	episodes INTEGER NOT NULL,
	PRIMARY KEY (outcome)
);
INSERT INTO "outcomes" VALUES('recovered',1);
CREATE TABLE reset_orders (
	ring INTEGER NOT NULL,
	chip INTEGER NOT NULL,
	at TEXT NOT NULL,
	who TEXT NOT NULL,
	stop BOOLEAN NOT NULL,
	done BOOLEAN NOT NULL,
	PRIMARY KEY (ring)
);
INSERT INTO "reset_orders" VALUES(0,3,'2026-03-01T03:00:00.000250+00:00','root',1,1);
CREATE TABLE resets (
	ring INTEGER NOT NULL,
	at TEXT NOT NULL,
	episode INTEGER NOT NULL,
	PRIMARY KEY (ring, at)
);
INSERT INTO "resets" VALUES(0,'2026-03-01T03:00:00.000250+00:00',5);
INSERT INTO "resets" VALUES(0,'2026-03-01T03:03:00.000250+00:00',5);
CREATE TABLE restraint (
	id INTEGER NOT NULL,
	opened TEXT NOT NULL,
	since TEXT,
	reason TEXT NOT NULL,
	kept TEXT NOT NULL,
	waived TEXT NOT NULL,
	PRIMARY KEY (id)
);
INSERT INTO "restraint" VALUES(0,'["2026-03-01T03:00:00.000250+00:00"]','2026-03-01T03:00:00.000250+00:00','a storm','[[8,"2026-03-01T03:00:00.000250+00:00"]]','[16]');
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
INSERT INTO "rings" VALUES(0,'[3,4]','waiting','2026-03-01T03:00:00.000250+00:00','chip 3: größer','2026-03-01T03:03:00.000250+00:00',5,'2026-03-01T03:00:00.000250+00:00','["2026-03-01T03:00:00.000250+00:00","2026-03-01T03:03:00.000250+00:00"]',1,'2026-03-01T03:03:00.000250+00:00','["2026-03-01T03:00:00.000250+00:00"]','[["containerd","default","web-2"],["docker","","c0ffee"]]','[[["containerd","default","web-2"],1],[["docker","","c0ffee"],2]]','2026-03-01T03:00:00.000250+00:00',1);
CREATE TABLE tallies (
	chip INTEGER NOT NULL,
	code TEXT NOT NULL,
	times TEXT NOT NULL,
	raised TEXT NOT NULL,
	last TEXT,
	risen TEXT,
	recovered TEXT,
	PRIMARY KEY (chip, code)
);
INSERT INTO "tallies" VALUES(3,'80E01801','["2026-03-01T03:00:00.000250+00:00","2026-03-01T03:03:00.000250+00:00"]','[["FaultFrequency","SeparateNPU","2026-03-01T03:00:00.000250+00:00","came 3 times",true]]','2026-03-01T03:03:00.000250+00:00','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00');
CREATE INDEX faults_by_cleared ON faults (cleared);
CREATE INDEX notes_by_episode ON notes (episode);
CREATE INDEX notes_by_at ON notes (at);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('notes',4);
COMMIT;
