// Every text of the page, in English and in Chinese. A short one is its own English. The service's sentences stay as it says them.

const TEXTS = {
  // The frame.
  Now: "现状", History: "历史", Faults: "故障", Chips: "芯片", Slots: "槽位", Groups: "组", Main: "主导航", "Skip to content": "跳到正文",
  liveAt: ["live, {at}", "实时，{at}"], notLive: ["not live since {at}, for {length}", "自 {at} 起未更新，已 {length}"], connecting: "正在连接", Leave: "退出", Filter: "筛选", any: "全部", Search: "搜索", nOf: ["{n} of {all}", "{n} / {all}"], "Show all": "显示全部", "Nothing fits.": "没有符合条件的内容。",
  Keys: "快捷键", "Keys are on in this browser": "在此浏览器中启用快捷键", Close: "关闭", "There is no such page.": "没有这个页面。",
  "Open the page with a link": "请用链接打开本页", "The session is over.": "会话已结束。",
  enterText: ["Type this on the appliance, and open what it prints:", "在设备上输入以下命令，然后打开它给出的链接："],
  enterWhy: ["The link works once, for two minutes. Whoever may use the command line may open the page.", "链接只能使用一次，两分钟内有效。有权使用命令行的人都可以打开本页。"],

  // How things are.
  "All is well": "一切正常", wellSub: ["{chips} chips, {services} services. Nothing is wrong, and nothing waits for you.", "{chips} 个芯片，{services} 个服务。没有问题，也没有需要您处理的事。"],
  lastRecovery: ["The last recovery took {length}, {ago}.", "最近一次恢复用时 {length}，{ago}。"],
  "A recovery is under way": "正在恢复", recoveringSub: ["{recovery}: cmgr does this by itself.", "{recovery}，cmgr 会自动完成。"],
  downUntil: ["Down until it is over: {names}.", "恢复完成前停止的服务：{names}。"],
  downUntilMany: ["{held} of {all} services are down until it is over: {names} and {n} more.", "{all} 个服务中有 {held} 个在恢复完成前停止：{names} 等，另有 {n} 个。"], recoveries: ["{n} recoveries are under way", "正在进行 {n} 个恢复"],
  worstAndMore: ["{worst}, and {n} more", "{worst}，另有 {n} 个问题"],
  "nothing is wrong": "没有问题", inMaintenance: ["In maintenance: {what}", "处于维护模式：{what}"],
  "The service does not answer": "服务没有应答", awaySub: ["This is how things were {ago}. Nothing here is up to date.", "这是{ago}的情况，本页内容都不是最新的。"],
  maintenance: ["In maintenance until {at}", "维护中，至 {at}"], maintenanceSub: ["Recoveries are recorded, and none is acted on.", "只记录恢复过程，不采取任何动作。"],
  observe: ["Observing: everything is decided and recorded, and nothing is done.", "仅观察：所有决定都会记录，但不会执行。"],
  downtime: ["Downtime in {quarter}: {minutes} min of services, of which cmgr has ended {recovered}.", "{quarter} 服务停机 {minutes} 分钟，其中 {recovered} 分钟由 cmgr 结束。"],
  ordersOff: ["Orders are switched off here: web.orders = false.", "此处不能下达指令：web.orders = false。"],
  andMore: ["and {n} more", "另有 {n} 项"], Order: "指令",
  critical: "严重", warning: "警告", "What to do": "如何处理", since: ["since {at}", "自 {at}"],

  // Rings, chips, services.
  Ring: "环", Rings: "环", ring: ["Ring {chips}", "环 {chips}"], Chip: "芯片", chip: ["Chip {n}", "芯片 {n}"], noChips: ["No chips are known. cmgr check says why.", "没有已知的芯片。cmgr check 会说明原因。"], "There is no such chip.": "没有这个芯片。",
  well: "正常", faulty: "有故障", "not well": "异常", isolated: "已隔离", "in a reset": "复位中", State: "状态", Model: "型号",
  Temperature: "温度", Load: "负载", Memory: "显存", Power: "功率", of: "/", "Used by": "使用者", "nobody uses it": "无人使用", Resets: "复位",
  Shares: "分片", Template: "模板", "lost in the reset": "复位后丢失", Processes: "进程", PID: "进程号", Name: "名称",
  "The last hour": "最近一小时", lastHourNote: ["Measured while somebody watches the page.", "仅在有人查看本页时测量。"], "Nothing was measured yet.": "尚无测量数据。",
  Services: "服务", noServices: ["No container uses chips. Each that is given one, by any runtime that cmgr manages, stands here by itself.", "没有容器使用芯片。由 cmgr 管理的任何运行时分配了芯片的容器都会自动显示在这里。"],
  "There is no such service.": "没有这个服务。", allServices: ["All {n} services", "全部 {n} 个服务"], othersWell: ["{n} others are well.", "其余 {n} 个正常。"], moreAil: ["{n} more are not well.", "另有 {n} 个异常。"],
  "Part of": "所属", Runtime: "运行时", Strategy: "策略", "Started by": "启动者", Health: "健康检查", "Asked by cmgr": "cmgr 的询问", Restarts: "重启次数",
  "What was done to it": "对它做过什么", noLinesOfIt: ["Nothing, in the newest lines of the history.", "最近的历史记录中没有。"],
  group: ["Group {name}", "组 {name}"], project: ["Project {name}", "项目 {name}"], unit: ["Unit {name}", "单元 {name}"], "On their own": "独立服务",
  running: "运行中", "not serving": "不提供服务", stopping: "正在停止", held: "暂停保留", starting: "正在启动", settling: "观察中", down: "未运行", unhealthy: "不健康",
  "at home": "在原芯片", moved: "已迁移", movedFrom: ["moved from {chips}", "自 {chips} 迁移"],
  noSlots: ["There are no slots. A slot is a name for chips: a container asks for the name, and where a chip is isolated its slot moves to another.", "没有槽位。槽位是芯片的名称：容器请求该名称，芯片被隔离时槽位会迁移到其他芯片。"],
  noGroups: ["There are no groups. Containers with the same label are one: they stop and start together.", "没有组。具有相同标签的容器为一组：一起停止，一起启动。"],
  membersHere: ["{up} of {here} here, {size} in all", "本机 {here} 个中 {up} 个，共 {size} 个"], "Rounds of groups": "组的轮次", here: "本机",
  noFleet: ["This appliance is in no fleet.", "本机不在集群中。"],
  Members: "成员", Round: "轮次", halting: "停止中", again: "再次", resumed: "已部分恢复", "There are no such groups.": "没有符合条件的组。", "There was no round yet.": "尚无轮次。",
  Fleet: "集群", ready: "就绪", degraded: ["not well", "异常"], away: "失联", hangs: "无响应", unknown: "未知", halted: "已停止", out: ["left out", "已排除"],

  // Recoveries and their lines.
  healthy: "健康", listing: "清点", draining: "停止服务", waiting: "等待", resetting: "复位", verifying: "检验", resuming: "恢复服务",
  phasesOf: ["Phases of the recovery of {ring}", "{ring} 的恢复阶段"], done: "已完成", now: "进行中", "to come": "未到",
  left: ["{length} left", "还剩 {length}"], overdue: ["overdue by {length}", "超时 {length}"], forLength: ["for {length}", "已 {length}"], "waits for an answer": "等待应答",
  Recoveries: "恢复", Episodes: "事件", "All episodes": "所有事件", episode: ["Episode {n}", "事件 {n}"], showEpisode: ["Watch episode {n}", "观看事件 {n}"],
  noEpisodes: ["No chip has faulted since cmgr keeps history.", "自 cmgr 保存历史以来，没有芯片发生故障。"], "There is no such episode.": "没有这个事件。",
  Number: "编号", When: "时间", Since: "开始于", Began: "开始", Took: "用时", Outcome: "结果", Cause: "原因", Reason: "原因",
  recovered: "已恢复", cleared: "已消除", failed: "失败", observed: "仅观察", "under way": "进行中", tookSoFar: ["{length} so far", "已用 {length}"],
  "How long recoveries took": "恢复用时",
  recoveryTimesOf: ["How long the last {n} recoveries took: {median} in the middle, {longest} at most", "最近 {n} 次恢复的用时：中位数 {median}，最长 {longest}"],
  Downtime: "停机时间", "Down now": "当前停机", "By cause": "按原因", "By service": "按服务", Minutes: "分钟", Outages: "停机次数", Ended: ["By cmgr", "由 cmgr 结束"], Unseen: ["Not known", "未知"],
  downtimeOf: ["{quarter}: {minutes} min, each service for itself.", "{quarter}：{minutes} 分钟，每个服务分别计算。"],
  endedByCmgr: ["cmgr has ended {n} of the outages, which took {minutes} min.", "其中 {n} 次由 cmgr 结束，用时 {minutes} 分钟。"],
  byHand: ["With a person who begins after {reaction} min it would have been {minutes} min.", "若由人在 {reaction} 分钟后开始处理，则为 {minutes} 分钟。"],
  unseenOf: ["Not known: {minutes} min in which services changed and nobody saw it.", "未知：{minutes} 分钟内服务有变化而无人看到。"],
  notBefore: ["Not known: all before {at}, since when it is counted.", "未知：{at} 开始统计之前的时间。"],
  silentSince: ["Not known: the services of {runtime} since {at}: it does not answer.", "未知：{runtime} 自 {at} 起没有应答，其服务的情况不明。"],
  notCounted: ["Not counted: what a person has stopped, paused or removed. To print:", "不计入：由人停止、暂停或删除的服务。打印用："],
  "by fault": ["a fault of its chips", "芯片故障"], "by order": ["a reset or test by order", "按指令复位或测试"], "by heal": ["restarted as it was unhealthy", "因异常被重启"],
  "by move": ["moved to other chips", "迁移到其他芯片"], "by group": ["its group was stopped", "所属组被停止"], "by maintenance": ["during maintenance", "维护期间"], "by itself": ["by itself", "自行停止"],
  "Every line": "所有记录", Category: "类别", After: "经过", Text: ["What happened", "内容"], "Nothing has happened yet.": "尚无记录。", andLikeIt: ["and {n} more of the kind", "另有 {n} 条同类记录"], "Save the picture": "保存图片", "Show more": "显示更多",
  opened: ["begun", "开始"], fault: "故障", phase: "阶段", action: "动作", result: "结果", hold: "保留", isolation: "隔离", closed: ["over", "结束"],
  Timeline: "时间线", "As a list": "列表", reset: "复位", faultMark: ["{code} comes", "{code} 出现"], faultGone: ["{code} goes", "{code} 消除"],
  laneText: ["Swim lanes of episode {n}: {cause}, {outcome}, {length}. The same stands below as a list.", "事件 {n} 的泳道图：{cause}，{outcome}，{length}。下面有相同内容的列表。"],

  // Faults.
  Code: "代码", Level: "级别", Came: "出现", Cleared: "消除", Times: "次数", Module: "模块", active: "仍存在", "cleared ones, too": "包括已消除",
  "No fault is active.": "当前没有故障。", noFaults: ["No chip has reported a fault. cmgr explain CODE says what a code would mean.", "没有芯片报告过故障。cmgr explain CODE 会说明代码的含义。"], "The machine": "整机", "What cmgr does about it": "cmgr 如何处理",
  "Faults per day, 90 days": "每日故障数，90 天", faultsPerDayOf: ["Faults per day in the last 90 days: {n} in all, {most} at most on one day", "最近 90 天的每日故障数：共 {n} 次，单日最多 {most} 次"],

  // Orders.
  Isolate: "隔离", isolateChip: ["Isolate chip {chip}", "隔离芯片 {chip}"], Release: "解除隔离", releaseChip: ["Release chip {chip}", "解除芯片 {chip} 的隔离"],
  stopUsers: ["Stop those that run on its ring, and start them again", "停止在该环上运行的服务，之后重新启动"],
  Reset: "复位", resetChip: ["Reset the ring of chip {chip}", "复位芯片 {chip} 所在的环"], Resume: "恢复", resumeName: ["Resume {container}", "恢复 {container}"], "Resume all": "全部恢复",
  "Call off": "取消", cancelReboot: ["Call off the reboot of this machine", "取消本机的重启"],
  "Take back": "撤回", cancelChip: ["Take back the order for chip {chip}", "撤回芯片 {chip} 的指令"],
  "Give back": "交还", forgetName: ["Give {container} back to you", "把 {container} 交还给您"], Acknowledge: "确认", "Begin maintenance": "开始维护", "End maintenance": "结束维护",
  "What will happen": "将会发生", "Looking…": "正在查看…", reasonHelp: ["Everybody who looks is shown it.", "所有查看的人都会看到。"], "It ends by itself after": "自动结束于",
  earlier: ["The last {n} recoveries of this ring took {from} to {to}.", "此环最近 {n} 次恢复用时 {from} 至 {to}。"],
  Cancel: "取消", "Give the order": "下达指令", givenLine: ["Done: {text}", "完成：{text}"], "This cannot be done": "无法执行",

  // Lengths of time.
  ago: ["{length} ago", "{length}前"], "just now": "刚刚", ms: ["{n} ms", "{n} 毫秒"], s: ["{n} s", "{n} 秒"], min: ["{n} min", "{n} 分钟"], h: ["{n} h", "{n} 小时"], d: ["{n} d", "{n} 天"],
};

const wished = new URLSearchParams(location.search).get("lang") || navigator.language || "en";
export const lang = wished.toLowerCase().startsWith("zh") ? "zh" : "en";
export const locale = lang === "zh" ? "zh-CN" : wished.toLowerCase().startsWith("en") ? wished : "en-GB";

// A word that is not there, as a new one of the service's, is shown as it is.
export function t(key, gaps = {}) {
  const text = TEXTS[key] ?? key, [english, chinese] = Array.isArray(text) ? text : [key, text];
  return (lang === "zh" ? chinese : english).replace(/\{(\w+)\}/g, (_, name) => gaps[name] ?? "");
}
