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
    board TEXT DEFAULT '' NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE commands (
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    reason TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (id)
)
 WITHOUT ROWID

;
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
    composed_project TEXT,
    composed_service TEXT,
    composed_number INTEGER,
    composed_needs TEXT,
    composed_made TEXT,
    before_stop TEXT DEFAULT '[]' NOT NULL,
    needs_network BOOLEAN DEFAULT 0 NOT NULL,
    "group" TEXT DEFAULT '' NOT NULL,
    spare TEXT,
    min_chips INTEGER DEFAULT 0 NOT NULL,
    unit TEXT DEFAULT '' NOT NULL,
    runs TEXT DEFAULT '[]' NOT NULL,
    vouches TEXT DEFAULT '[]' NOT NULL,
    made_for TEXT DEFAULT '[]' NOT NULL,
    tied TEXT DEFAULT 'was given its chips for good by its runtime: one on a slot could be moved' NOT NULL,
    brought TEXT,
    marked BOOLEAN,
    busy TEXT DEFAULT '' NOT NULL,
    takes TEXT DEFAULT '[]' NOT NULL,
    kept_chips TEXT DEFAULT '[]' NOT NULL,
    kept_used TEXT DEFAULT '[]' NOT NULL,
    kept_since TEXT,
    kept_wanted BOOLEAN DEFAULT 0 NOT NULL,
    kept_deaf BOOLEAN DEFAULT 0 NOT NULL,
    kept_covers TEXT DEFAULT '[]' NOT NULL,
    kept_forgotten TEXT DEFAULT '' NOT NULL,
    kept_paused TEXT,
    kept_unsteady TEXT,
    kept_instead_of TEXT DEFAULT '[]' NOT NULL,
    kept_places TEXT DEFAULT '[]' NOT NULL,
    kept_answer TEXT DEFAULT '' NOT NULL,
    kept_said TEXT DEFAULT '' NOT NULL,
    kept_answered TEXT,
    kept_mute TEXT,
    kept_reached TEXT DEFAULT '[]' NOT NULL,
    kept_denied TEXT DEFAULT '[]' NOT NULL,
    kept_steady TEXT DEFAULT '[]' NOT NULL,
    kept_lost TEXT DEFAULT '[]' NOT NULL,
    kept_halted TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (runtime, namespace, id)
);
CREATE TABLE downtime (
    service TEXT NOT NULL,
    day TEXT NOT NULL,
    cause TEXT NOT NULL,
    down_us INTEGER DEFAULT 0 NOT NULL,
    outages INTEGER DEFAULT 0 NOT NULL,
    recoveries INTEGER DEFAULT 0 NOT NULL,
    recovered_us INTEGER DEFAULT 0 NOT NULL,
    PRIMARY KEY (service, day, cause)
);
CREATE TABLE episodes (
    number INTEGER NOT NULL,
    ring INTEGER,
    began TEXT NOT NULL,
    ended TEXT,
    outcome TEXT NOT NULL,
    cause TEXT NOT NULL,
    cause_message TEXT,
    PRIMARY KEY (number)
);
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
    whose TEXT,
    PRIMARY KEY (chip, code, module, since)
)
 WITHOUT ROWID

;
CREATE INDEX faults_by_cleared ON faults (cleared);
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
    cause_message TEXT,
    members TEXT DEFAULT '[]' NOT NULL,
    up TEXT DEFAULT '[]' NOT NULL,
    out TEXT DEFAULT '[]' NOT NULL,
    missing TEXT DEFAULT '[]' NOT NULL,
    restarts TEXT DEFAULT '[]' NOT NULL,
    history TEXT DEFAULT '[]' NOT NULL,
    ordered TEXT DEFAULT '' NOT NULL,
    taken TEXT DEFAULT '[]' NOT NULL,
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
    attempt_error_message TEXT,
    cause TEXT DEFAULT 'episode' NOT NULL,
    down TEXT,
    frozen BOOLEAN DEFAULT 0 NOT NULL,
    sick INTEGER DEFAULT 0 NOT NULL,
    inherited BOOLEAN DEFAULT 0 NOT NULL,
    wish TEXT DEFAULT '[]' NOT NULL,
    short TEXT DEFAULT '' NOT NULL,
    short_message TEXT,
    beside TEXT DEFAULT '[]' NOT NULL,
    places TEXT DEFAULT '[]' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    reason_message TEXT,
    follows TEXT DEFAULT '[]' NOT NULL,
    anew TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (runtime, namespace, id)
)
 WITHOUT ROWID

;
CREATE TABLE isolations (
    chip INTEGER NOT NULL,
    since TEXT NOT NULL,
    "by" TEXT NOT NULL,
    reason TEXT NOT NULL,
    reason_message TEXT,
    code TEXT,
    clean_since TEXT,
    PRIMARY KEY (chip)
);
CREATE TABLE kept_containers (
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
    composed_project TEXT,
    composed_service TEXT,
    composed_number INTEGER,
    composed_needs TEXT,
    composed_made TEXT,
    before_stop TEXT DEFAULT '[]' NOT NULL,
    needs_network BOOLEAN DEFAULT 0 NOT NULL,
    "group" TEXT DEFAULT '' NOT NULL,
    spare TEXT,
    min_chips INTEGER DEFAULT 0 NOT NULL,
    unit TEXT DEFAULT '' NOT NULL,
    runs TEXT DEFAULT '[]' NOT NULL,
    vouches TEXT DEFAULT '[]' NOT NULL,
    made_for TEXT DEFAULT '[]' NOT NULL,
    tied TEXT DEFAULT 'was given its chips for good by its runtime: one on a slot could be moved' NOT NULL,
    brought TEXT,
    marked BOOLEAN,
    busy TEXT DEFAULT '' NOT NULL,
    takes TEXT DEFAULT '[]' NOT NULL,
    kept_chips TEXT DEFAULT '[]' NOT NULL,
    kept_used TEXT DEFAULT '[]' NOT NULL,
    kept_since TEXT,
    kept_wanted BOOLEAN DEFAULT 0 NOT NULL,
    kept_deaf BOOLEAN DEFAULT 0 NOT NULL,
    kept_covers TEXT DEFAULT '[]' NOT NULL,
    kept_forgotten TEXT DEFAULT '' NOT NULL,
    kept_paused TEXT,
    kept_unsteady TEXT,
    kept_instead_of TEXT DEFAULT '[]' NOT NULL,
    kept_places TEXT DEFAULT '[]' NOT NULL,
    kept_answer TEXT DEFAULT '' NOT NULL,
    kept_said TEXT DEFAULT '' NOT NULL,
    kept_answered TEXT,
    kept_mute TEXT,
    kept_reached TEXT DEFAULT '[]' NOT NULL,
    kept_denied TEXT DEFAULT '[]' NOT NULL,
    kept_steady TEXT DEFAULT '[]' NOT NULL,
    kept_lost TEXT DEFAULT '[]' NOT NULL,
    kept_halted TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (runtime, namespace, id)
);
CREATE TABLE kept_holds (
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
    attempt_error_message TEXT,
    cause TEXT DEFAULT 'episode' NOT NULL,
    down TEXT,
    frozen BOOLEAN DEFAULT 0 NOT NULL,
    sick INTEGER DEFAULT 0 NOT NULL,
    inherited BOOLEAN DEFAULT 0 NOT NULL,
    wish TEXT DEFAULT '[]' NOT NULL,
    short TEXT DEFAULT '' NOT NULL,
    short_message TEXT,
    beside TEXT DEFAULT '[]' NOT NULL,
    places TEXT DEFAULT '[]' NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    reason_message TEXT,
    follows TEXT DEFAULT '[]' NOT NULL,
    anew TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (runtime, namespace, id)
);
CREATE TABLE machine_faults (
    code TEXT NOT NULL,
    part TEXT NOT NULL,
    source TEXT NOT NULL,
    handling TEXT NOT NULL,
    since TEXT NOT NULL,
    changed TEXT NOT NULL,
    text TEXT DEFAULT '' NOT NULL,
    text_message TEXT,
    count INTEGER DEFAULT 1 NOT NULL,
    mark TEXT DEFAULT '' NOT NULL,
    grave BOOLEAN DEFAULT 0 NOT NULL,
    until TEXT,
    cleared TEXT,
    PRIMARY KEY (code, part)
);
CREATE TABLE maintenance (
    id INTEGER NOT NULL,
    since TEXT NOT NULL,
    until TEXT,
    who TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE meta (
    level INTEGER NOT NULL,
    version TEXT NOT NULL,
    created TEXT NOT NULL,
    serial INTEGER NOT NULL,
    episodes INTEGER NOT NULL,
    counted TEXT,
    alive TEXT
);
CREATE TABLE missing (
    id INTEGER NOT NULL,
    chip_id INTEGER NOT NULL,
    chip_ring INTEGER NOT NULL,
    chip_logical INTEGER NOT NULL,
    chip_card INTEGER DEFAULT 0 NOT NULL,
    chip_device INTEGER DEFAULT 0 NOT NULL,
    chip_model TEXT DEFAULT '' NOT NULL,
    chip_bus TEXT DEFAULT '' NOT NULL,
    chip_serial TEXT DEFAULT '' NOT NULL,
    chip_aliases TEXT DEFAULT '[]' NOT NULL,
    chip_shares TEXT DEFAULT '[]' NOT NULL,
    chip_number INTEGER,
    chip_tool_name TEXT DEFAULT '' NOT NULL,
    chip_board TEXT DEFAULT '' NOT NULL,
    number INTEGER NOT NULL,
    since TEXT NOT NULL,
    PRIMARY KEY (id)
);
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
    name TEXT,
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    card INTEGER,
    device INTEGER,
    code TEXT,
    level TEXT,
    handling TEXT,
    assertion TEXT,
    message TEXT
);
CREATE INDEX notes_by_at ON notes (at);
CREATE INDEX notes_by_episode ON notes (episode);
CREATE TABLE occasions (
    name TEXT NOT NULL,
    due TEXT NOT NULL,
    rings TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
CREATE TABLE origins (
    runtime TEXT NOT NULL,
    word TEXT DEFAULT '' NOT NULL,
    kind TEXT DEFAULT '' NOT NULL,
    root TEXT DEFAULT '' NOT NULL,
    doubted TEXT,
    boots BOOLEAN DEFAULT 1 NOT NULL,
    PRIMARY KEY (runtime)
);
CREATE TABLE outages (
    runtime TEXT NOT NULL,
    namespace TEXT NOT NULL,
    id TEXT NOT NULL,
    service TEXT NOT NULL,
    since TEXT NOT NULL,
    cause TEXT NOT NULL,
    ours BOOLEAN DEFAULT 0 NOT NULL,
    up TEXT,
    PRIMARY KEY (runtime, namespace, id)
);
CREATE TABLE outcomes (
    outcome TEXT NOT NULL,
    episodes INTEGER NOT NULL,
    PRIMARY KEY (outcome)
);
CREATE TABLE reboot (
    id INTEGER NOT NULL,
    stage TEXT NOT NULL,
    since TEXT NOT NULL,
    reason TEXT DEFAULT '' NOT NULL,
    reason_message TEXT,
    what TEXT DEFAULT '' NOT NULL,
    what_message TEXT,
    pieces TEXT DEFAULT '[]' NOT NULL,
    due TEXT,
    boot TEXT DEFAULT '' NOT NULL,
    age_us INTEGER DEFAULT 0 NOT NULL,
    retry_at TEXT,
    vain TEXT DEFAULT '[]' NOT NULL,
    episodes TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE reservations (
    chip INTEGER NOT NULL,
    until TEXT NOT NULL,
    who TEXT NOT NULL,
    asker TEXT NOT NULL,
    PRIMARY KEY (chip)
);
CREATE TABLE reset_orders (
    ring INTEGER NOT NULL,
    chip INTEGER NOT NULL,
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    who_message TEXT,
    stop BOOLEAN DEFAULT 0 NOT NULL,
    done BOOLEAN DEFAULT 0 NOT NULL,
    test BOOLEAN DEFAULT 0 NOT NULL,
    PRIMARY KEY (ring)
);
CREATE TABLE resets (
    ring INTEGER NOT NULL,
    at TEXT NOT NULL,
    episode INTEGER NOT NULL,
    PRIMARY KEY (ring, at)
);
CREATE TABLE restraint (
    id INTEGER NOT NULL,
    opened TEXT DEFAULT '[]' NOT NULL,
    since TEXT,
    reason TEXT DEFAULT '' NOT NULL,
    kept TEXT DEFAULT '[]' NOT NULL,
    waived TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (id)
);
CREATE TABLE rings (
    id INTEGER NOT NULL,
    chips TEXT NOT NULL,
    phase TEXT DEFAULT 'healthy' NOT NULL,
    since TEXT,
    reason TEXT DEFAULT '' NOT NULL,
    reason_message TEXT,
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
    answered TEXT,
    blocked TEXT,
    widened BOOLEAN DEFAULT 0 NOT NULL,
    lost TEXT DEFAULT '[]' NOT NULL,
    restarts TEXT DEFAULT '[]' NOT NULL,
    preparing BOOLEAN DEFAULT 0 NOT NULL,
    failed TEXT DEFAULT '[]' NOT NULL,
    vetoed TEXT,
    PRIMARY KEY (id)
);
CREATE TABLE slots (
    name TEXT NOT NULL,
    chips TEXT NOT NULL,
    home TEXT NOT NULL,
    since TEXT NOT NULL,
    reason TEXT NOT NULL,
    reason_message TEXT,
    wish TEXT DEFAULT '[]' NOT NULL,
    short TEXT DEFAULT '' NOT NULL,
    short_message TEXT,
    without TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (name)
);
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
CREATE TABLE troubles (
    kind TEXT NOT NULL,
    about TEXT NOT NULL,
    text TEXT NOT NULL,
    text_message TEXT,
    why TEXT DEFAULT '' NOT NULL,
    why_message TEXT,
    hint TEXT DEFAULT '' NOT NULL,
    hint_message TEXT,
    since TEXT,
    stays BOOLEAN DEFAULT 0 NOT NULL,
    ring INTEGER,
    episode INTEGER,
    chips TEXT DEFAULT '[]' NOT NULL,
    codes TEXT DEFAULT '[]' NOT NULL,
    containers TEXT DEFAULT '[]' NOT NULL,
    lines TEXT DEFAULT '[]' NOT NULL,
    PRIMARY KEY (kind, about)
);
