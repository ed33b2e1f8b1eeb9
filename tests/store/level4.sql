BEGIN TRANSACTION;
CREATE TABLE chips (
    id INTEGER NOT NULL,
    ring INTEGER NOT NULL,
    logical INTEGER NOT NULL,
    card INTEGER DEFAULT 0 NOT NULL,
    device INTEGER DEFAULT 0 NOT NULL,
    model TEXT DEFAULT '' NOT NULL,
    bus TEXT DEFAULT '' NOT NULL,
    serial TEXT DEFAULT '' NOT NULL,
    aliases TEXT DEFAULT '[]' NOT NULL,
    shares TEXT DEFAULT '[]' NOT NULL,
    number INTEGER,
    tool_name TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO "chips" VALUES(3,0,1,2,3,'910B','0000:c1:00.0','S1','["part"]','[["100","vir04",1,["/dev/vdavinci100"],"make it",false,true,"it does not fit"]]',NULL,'');
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
    claims TEXT DEFAULT '[]' NOT NULL,
    running BOOLEAN DEFAULT 0 NOT NULL,
    run TEXT DEFAULT '' NOT NULL,
    exit_code INTEGER,
    exit_at TEXT,
    exit_asked BOOLEAN,
    grace_us INTEGER DEFAULT 10000000 NOT NULL,
    strategy TEXT,
    "order" INTEGER DEFAULT 0 NOT NULL,
    enabled BOOLEAN DEFAULT 1 NOT NULL,
    restart_policy TEXT DEFAULT '' NOT NULL,
    auto_remove BOOLEAN DEFAULT 0 NOT NULL,
    warnings TEXT DEFAULT '[]' NOT NULL,
    chips TEXT DEFAULT '[]' NOT NULL,
    used TEXT DEFAULT '[]' NOT NULL,
    since TEXT,
    wanted BOOLEAN DEFAULT 0 NOT NULL,
    composed_project TEXT,
    composed_service TEXT,
    composed_number INTEGER,
    composed_needs TEXT,
    composed_made TEXT,
    before_stop TEXT DEFAULT '[]' NOT NULL,
    deaf BOOLEAN DEFAULT 0 NOT NULL,
    needs_network BOOLEAN DEFAULT 0 NOT NULL,
    "group" TEXT DEFAULT '' NOT NULL,
    spare TEXT,
    min_chips INTEGER DEFAULT 0 NOT NULL,
    unit TEXT DEFAULT '' NOT NULL,
    covers TEXT DEFAULT '[]' NOT NULL,
    runs TEXT DEFAULT '[]' NOT NULL,
    made_for TEXT DEFAULT '[]' NOT NULL,
    tied TEXT DEFAULT 'was given its chips for good by its runtime: one on a slot could be moved' NOT NULL,
    forgotten TEXT DEFAULT '' NOT NULL,
    paused TEXT,
    unsteady TEXT,
    PRIMARY KEY (runtime, namespace, id)
);
INSERT INTO "containers" VALUES('docker','','c0ffee','web','["10","3"]',1,'life 2',137,'2026-03-01T03:00:00.000250+00:00',1,12500000,'ringRecover',7,0,'on-failure:3',1,'["a label"]','[3,10]','[]','2026-03-01T03:00:00.000250+00:00',0,'llm','web',2,'[["db","service_healthy"],["init","service_completed_successfully"]]','2026-03-01T03:00:00.000250+00:00','["save","--now"]',1,0,'',NULL,2,'llm@3.service','["3"]','["db","web"]','["3"]','has a hook','',NULL,NULL);
INSERT INTO "containers" VALUES('containerd','default','web-2','web','["10","3"]',1,'life 2',0,'2026-03-01T03:00:00.000250+00:00',NULL,12500000,NULL,7,0,'on-failure:3',1,'["a label"]','[3,10]','[]',NULL,0,'llm','web',2,'[["db","service_healthy"],["init","service_completed_successfully"]]','2026-03-01T03:00:00.000250+00:00','["save","--now"]',1,0,'',NULL,2,'llm@3.service','["3"]','["db","web"]','["3"]','has a hook','',NULL,NULL);
INSERT INTO "containers" VALUES('containerd','default','new','new','[]',0,'',NULL,NULL,NULL,10000000,NULL,0,1,'',0,'[]','[]','[]',NULL,0,NULL,NULL,NULL,NULL,NULL,'[]',0,0,'',NULL,0,'','[]','[]','[]','was given its chips for good by its runtime: one on a slot could be moved','',NULL,NULL);
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
    level TEXT NOT NULL,
    since TEXT NOT NULL,
    risen TEXT NOT NULL,
    changed TEXT NOT NULL,
    severity TEXT,
    count INTEGER DEFAULT 1 NOT NULL,
    momentary BOOLEAN DEFAULT 0 NOT NULL,
    cleared TEXT,
    handling TEXT DEFAULT 'NotHandleFault' NOT NULL,
    fault_class TEXT DEFAULT 'chip' NOT NULL,
    until TEXT,
    highest TEXT,
    PRIMARY KEY (chip, code, module, since)
);
INSERT INTO "faults" VALUES(3,'80E01801','1/2','RestartNPU','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','major',3,1,NULL,'RestartNPU','chip',NULL,NULL);
CREATE TABLE fleet_groups (
    name TEXT NOT NULL,
    round INTEGER DEFAULT 0 NOT NULL,
    phase TEXT DEFAULT 'running' NOT NULL,
    held INTEGER DEFAULT 0 NOT NULL,
    whole BOOLEAN DEFAULT 0 NOT NULL,
    alone BOOLEAN DEFAULT 0 NOT NULL,
    restart INTEGER DEFAULT 0 NOT NULL,
    without TEXT DEFAULT '[]' NOT NULL,
    parts TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
INSERT INTO "fleet_groups" VALUES('tp8',18,'starting',17,1,1,19,'["b"]','["a","b"]');
CREATE TABLE gone (
    runtime TEXT NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    PRIMARY KEY (runtime)
);
CREATE TABLE groups (
    name TEXT NOT NULL,
    phase TEXT DEFAULT 'running' NOT NULL,
    round INTEGER DEFAULT 0 NOT NULL,
    since TEXT,
    began TEXT,
    cause TEXT DEFAULT '' NOT NULL,
    members TEXT DEFAULT '[]' NOT NULL,
    up TEXT DEFAULT '[]' NOT NULL,
    out TEXT DEFAULT '[]' NOT NULL,
    missing TEXT DEFAULT '[]' NOT NULL,
    restarts TEXT DEFAULT '[]' NOT NULL,
    history TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE healings (
    runtime TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    times TEXT DEFAULT '[]' NOT NULL,
    life TEXT,
    since TEXT,
    due TEXT,
    counted BOOLEAN DEFAULT 0 NOT NULL,
    spared BOOLEAN DEFAULT 0 NOT NULL,
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
    died BOOLEAN DEFAULT 0 NOT NULL,
    "order" INTEGER DEFAULT 0 NOT NULL,
    grace_us INTEGER DEFAULT 10000000 NOT NULL,
    restart_policy TEXT DEFAULT '' NOT NULL,
    disarmed BOOLEAN DEFAULT 0 NOT NULL,
    attempt_tries INTEGER DEFAULT 0 NOT NULL,
    attempt_retry_at TEXT,
    attempt_error TEXT DEFAULT '' NOT NULL,
    cause TEXT DEFAULT 'episode' NOT NULL,
    down TEXT,
    frozen BOOLEAN DEFAULT 0 NOT NULL,
    sick INTEGER DEFAULT 0 NOT NULL,
    inherited BOOLEAN DEFAULT 0 NOT NULL,
    wish TEXT DEFAULT '[]' NOT NULL,
    short TEXT DEFAULT '' NOT NULL,
    beside TEXT DEFAULT '[]' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (runtime, namespace, id)
);
INSERT INTO "holds" VALUES('docker','','c0ffee','web','[3]',5,'2026-03-01T03:00:00.000250+00:00','failed','life 1',1,7,12500000,'always',1,2,'2026-03-01T03:03:00.000250+00:00','no','heal',NULL,0,2,1,'[6]','no spare','[]','chip 3 is isolated: it smells');
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
CREATE TABLE machine_faults (
    code TEXT NOT NULL,
    part TEXT NOT NULL,
    source TEXT NOT NULL,
    handling TEXT NOT NULL,
    since TEXT NOT NULL,
    changed TEXT NOT NULL,
    text TEXT DEFAULT '' NOT NULL,
    count INTEGER DEFAULT 1 NOT NULL,
    mark TEXT DEFAULT '' NOT NULL,
    grave BOOLEAN DEFAULT 0 NOT NULL,
    until TEXT,
    cleared TEXT,
    PRIMARY KEY (code, part)
);
INSERT INTO "machine_faults" VALUES('memory-uncorrected','mc0','memory','PreSeparateNPU','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','1 error',2,'boot:2',1,'2026-03-01T03:03:00.000250+00:00','2026-03-01T03:03:00.000250+00:00');
CREATE TABLE maintenance (
    id INTEGER NOT NULL,
    since TEXT NOT NULL,
    until TEXT,
    who TEXT NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO "maintenance" VALUES(0,'2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00','root');
CREATE TABLE meta (
    level INTEGER NOT NULL,
    version TEXT NOT NULL,
    created TEXT NOT NULL,
    serial INTEGER NOT NULL,
    episodes INTEGER NOT NULL
);
INSERT INTO "meta" VALUES(4,'0.1.0','2026-11-29T08:20:40.835529+00:00',77,5);
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
    text TEXT NOT NULL,
    card INTEGER,
    device INTEGER,
    code TEXT,
    level TEXT,
    handling TEXT,
    assertion TEXT
);
INSERT INTO "notes" VALUES(1,'2026-03-01T03:00:00.000250+00:00','opened',4,0,3,'docker','','c0ffee','','chip 3: 80E01801',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "notes" VALUES(2,'2026-03-01T03:03:00.000250+00:00','closed',4,0,3,'docker','','c0ffee','recovered','recovered',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "notes" VALUES(3,'2026-03-01T03:03:00.000250+00:00','opened',5,0,3,'docker','','c0ffee','','chip 3: again',NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO "notes" VALUES(4,'2026-03-01T03:03:00.000250+00:00','warning',0,NULL,NULL,NULL,NULL,NULL,'','of nothing in particular',NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE occasions (
    name TEXT NOT NULL,
    due TEXT NOT NULL,
    rings TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
INSERT INTO "occasions" VALUES('maintenance.windows','2026-03-01T03:03:00.000250+00:00','[0]');
CREATE TABLE outcomes (
    outcome TEXT NOT NULL,
    episodes INTEGER NOT NULL,
    PRIMARY KEY (outcome)
);
INSERT INTO "outcomes" VALUES('recovered',1);
CREATE TABLE reservations (
    chip INTEGER NOT NULL,
    until TEXT NOT NULL,
    who TEXT NOT NULL,
    asker TEXT NOT NULL,
    PRIMARY KEY (chip)
);
INSERT INTO "reservations" VALUES(3,'2026-03-01T03:03:00.000250+00:00','root','word');
CREATE TABLE reset_orders (
    ring INTEGER NOT NULL,
    chip INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    stop BOOLEAN DEFAULT 0 NOT NULL,
    done BOOLEAN DEFAULT 0 NOT NULL,
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
    opened TEXT DEFAULT '[]' NOT NULL,
    since TEXT,
    reason TEXT DEFAULT '' NOT NULL,
    kept TEXT DEFAULT '[]' NOT NULL,
    waived TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO "restraint" VALUES(0,'["2026-03-01T03:00:00.000250+00:00"]','2026-03-01T03:00:00.000250+00:00','a storm','[[8,"2026-03-01T03:00:00.000250+00:00"]]','[16]');
CREATE TABLE rings (
    id INTEGER NOT NULL,
    chips TEXT NOT NULL,
    phase TEXT DEFAULT 'healthy' NOT NULL,
    since TEXT,
    reason TEXT DEFAULT '' NOT NULL,
    deadline TEXT,
    episode INTEGER DEFAULT 0 NOT NULL,
    began TEXT,
    resets TEXT DEFAULT '[]' NOT NULL,
    failures INTEGER DEFAULT 0 NOT NULL,
    not_before TEXT,
    lulls TEXT DEFAULT '[]' NOT NULL,
    theirs TEXT DEFAULT '[]' NOT NULL,
    starts TEXT DEFAULT '[]' NOT NULL,
    up TEXT,
    blocked TEXT,
    widened BOOLEAN DEFAULT 0 NOT NULL,
    lost TEXT DEFAULT '[]' NOT NULL,
    restarts TEXT DEFAULT '[]' NOT NULL,
    preparing BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO "rings" VALUES(0,'[3,4]','waiting','2026-03-01T03:00:00.000250+00:00','chip 3: größer','2026-03-01T03:03:00.000250+00:00',5,'2026-03-01T03:00:00.000250+00:00','["2026-03-01T03:00:00.000250+00:00","2026-03-01T03:03:00.000250+00:00"]',1,'2026-03-01T03:03:00.000250+00:00','["2026-03-01T03:00:00.000250+00:00"]','[["containerd","default","web-2"],["docker","","c0ffee"]]','[[["containerd","default","web-2"],1],[["docker","","c0ffee"],2]]',NULL,'2026-03-01T03:00:00.000250+00:00',1,'[]','[]',0);
CREATE TABLE slots (
    name TEXT NOT NULL,
    chips TEXT NOT NULL,
    home TEXT NOT NULL,
    since TEXT NOT NULL,
    reason TEXT NOT NULL,
    wish TEXT DEFAULT '[]' NOT NULL,
    short TEXT DEFAULT '' NOT NULL,
    without TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
INSERT INTO "slots" VALUES('chat','[3]','[4]','2026-03-01T03:00:00.000250+00:00','moved','[5]','no','[3]');
CREATE TABLE tallies (
    chip INTEGER NOT NULL,
    code TEXT NOT NULL,
    times TEXT DEFAULT '[]' NOT NULL,
    raised TEXT DEFAULT '[]' NOT NULL,
    last TEXT,
    risen TEXT,
    recovered TEXT,
    PRIMARY KEY (chip, code)
);
INSERT INTO "tallies" VALUES(3,'80E01801','["2026-03-01T03:00:00.000250+00:00","2026-03-01T03:03:00.000250+00:00"]','[["FaultFrequency","SeparateNPU","2026-03-01T03:00:00.000250+00:00","came 3 times",true]]','2026-03-01T03:03:00.000250+00:00','2026-03-01T03:00:00.000250+00:00','2026-03-01T03:03:00.000250+00:00');
CREATE TABLE troubles (
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    text TEXT NOT NULL,
    why TEXT DEFAULT '' NOT NULL,
    hint TEXT DEFAULT '' NOT NULL,
    since TEXT,
    stays BOOLEAN DEFAULT 0 NOT NULL,
    ring INTEGER,
    episode INTEGER,
    chips TEXT DEFAULT '[]' NOT NULL,
    codes TEXT DEFAULT '[]' NOT NULL,
    containers TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (kind, about)
);
INSERT INTO "troubles" VALUES('damage','database','it was damaged','a page is bad','look','2026-03-01T03:00:00.000250+00:00',1,0,4,'[3]','["80E01801"]','["a"]');
CREATE INDEX faults_by_cleared ON faults (cleared);
CREATE INDEX notes_by_at ON notes (at);
CREATE INDEX notes_by_episode ON notes (episode);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('notes',4);
COMMIT;
