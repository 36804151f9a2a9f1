"""The tables of Chinese."""

from doxa.language.languages import Language

CHINESE = Language(
    code="zh",
    stemmer="",
    common="",
    articles="这个|那个|这|那|一个|一只|一名|一位|一家|一台",
    of="的",
    me="我自己|我",
    we="我们|咱们|公司|我司",
    my="我的",
    our="我们的|咱们的",
    others="他们|她们|它们|他|她|它|这|那",
    change=(
        "从[^,]{1,6}起|从[^,]{1,6}开始|自[^,]{1,6}起|从现在起|从现在开始|从今天起|从今天开始"
        "|从明天起|从本周起|从下周起|从下周开始|从下个月起|从这周起|从本月起|目前|现在|如今"
        "|已经|已|最近|近来|今后|以后|改为|现已|自今日起|终于"
    ),
    besides="也|还|另外|同时|此外|又有|另一|第二|偶尔|有时|以及",
    times=(
        "上周|上个月|去年|昨天|今天|前天|刚刚|刚|前几天|上星期|今年|这周|本周|这个月|本月"
        "|据悉|其实|事实上|正式"
    ),
    ends="不再|(?<!是)不(?=[^,]*了$)|没(?=[^,]*了$)|不在了|不用了|没有再",
    nots="不|没有|没|并非|别|未",
    question=(
        r"[??吗呢]\s*$|吗$|谁|什么|哪|几点|多少|怎么|为什么|是否|是不是|会不会|要不要|如果"
        "|假如|假设|要是|倘若|万一"
    ),
    hedge=(
        "可能|也许|或许|大概|应该|恐怕|说不定|好像|似乎|打算|计划(?!的|书|表)|准备|想要|想"
        "|希望|考虑|正在考虑|如果|假如|要是|据说|听说|估计|觉得|认为|猜|梦见|差点|几乎|将要"
        "|即将|快要|(?<![机社周例协年晚聚大])会(?!议|员|计|长|场|谈|费|话|上|开|说|讲|弹|用"
        "|打)|申请|尝试|测试|评估|还没|尚未|不确定|开玩笑|比如|例如|建议|怀疑|担心|要不"
    ),
    report=(
        "说过|(?<![会能])说(?!明|话|服)|据说|声称|告诉|表示|提到|传闻|传言|谣言|写道"
        "|(?<!访)问(?!题|答|卷)|小说里|电影里|书里|梦里|故事里|引用|开玩笑|透露"
    ),
    opening=(
        "顺便说一下|顺便说|更新|注意|提醒|更正|对了|哦|不对|不|是的|好的|通知|纠正|请注意"
        "|好消息|坏消息|那个|嗯|所以|但是|不过|而且|记住|另"
    ),
    instead=(
        "而不是{old}|而不再是{old}|,不再是{old}|,不是{old}了|,不是{old}|,不用{old}了"
        "|代替{old}|取代{old}|,以前是{old}|,之前是{old}|,原来是{old}"
    ),
    joins="并且|并|但是|但|而且|而",
    new="新的?",
    roles=(
        ".*(?:组长|经理|老师|教师|教授|医生|护士|律师|学生|工程师|设计师|厨师|会计|翻译|记者"
        "|作家|主管|总监|主任|队长|部长|校长|院长|演员|司机|程序员|分析师|顾问|助理|实习生"
        "|董事长|总裁|教练|秘书|警察|画家|店长|研究员)"
    ),
    phrases="""
moved to: 搬|搬家|搬迁|迁|迁居|移居|搬去|调 到|去|至 了? {v} 了?|居住?|住?|生活? /
    搬到|搬去|搬至|迁到|迁至|移居|搬进|定居|定居在|落户 了? {v} 了? / 把? 总部
    迁到|迁至|搬到|搬至 了? {v} 了?
moved away from: 离开|搬离|搬出 了? {v} 了?
lives in: 住在|居住在|居住于|生活在|定居在|家在|现居|住 {v} / 总部 设? 位于|在 {v} / 总部设在
    {v}
joined: 加入|跳槽到|跳槽去|入职|去了|进了|进入 了? {v} 工作? 了? / 开始 在 {v} 工作|上班|任职
    了? / 在 {v} 找到|找了 了? 新?一?份? 工作 / 跳槽|转 到 了? {v} 了? / 被 {v} 录用|聘用 了?
resigned from: 从 {v} 离职|辞职|退休 了? / 离开|辞去|辞掉 了? {v} 的? 工作? 了? / 被 {v}
    解雇|裁员|裁 了?
works as: 担任|是一名|的职业是|的工作是|从事 {v} / 做 {v} 工作
works at: 在 {v} 工作|上班|任职|就职|供职 / 就职于|任职于|供职于|效力于 {v}
became: 升任|晋升为|晋升|升为|被任命为|被提升为|成为|成|当上|当 了 {v} 了? /
    升任|晋升为|升职为|被任命为|被提升为|成为|转任 了? {v}
married: 和|与|跟 {v} 结婚|成婚 了 / 嫁给|娶 了 {v}
is married to: 和|与|跟 {v} 是夫妻 / 的? 妻子|丈夫|老婆|老公|太太|先生|配偶 是 {v}
divorced: 和|与|跟 {v} 离婚|分居|分手 了? / {s} 和|与|跟 {v} 离婚|分居 了?
renamed to: 把 {s} 改名为|更名为|重命名为|改叫|改名叫 了? {v} 了? /
    改名为|更名为|改名叫|改名|重命名为|改叫|更名 了? {v} 了? / 改名|更名 成 了? {v} 了?
is called: 叫做|叫|名叫|名为|名字叫|的名字是|的名字叫|称为 {v}
costs: 价格|售价|费用|票价 是|为 {v} / 卖|售价|价格|要价|收费 {v} / 要 花? {v}
weighs: 重|体重|重量是|体重是 {v}
is due on: 截止|到期 日期?|时间? 是|为|到|在|于 {v} / 的? 截止日期|截止时间|交付日期|期限|到期日
    是|为|在|定在 {v} / 要在 {v} 前|之前 交|提交|完成|交付 / 在? {t} 到期|截止|交
takes: 需要|耗时|持续|历时|时长是|时长为|要花 {v}
listens on port: 监听|运行在|跑在|使用|在|用 端口 {v} 上? / 监听|运行在|跑在|使用|在|用 {v} 端口
    上? / 监听 {v}
reports to: 向 {v} 汇报|报告 / 的? 上司|主管|领导|经理|老板 是 {v}
is led by: 由 {v} 负责|领导|带领|主管|主持|管理
leads: 领导|带领|主管|管理|主持 {v}
switched to: 从 {old}
    换|换成|切换|切换到|迁移|迁移到|转|转到|转向|转为|改用|升级|升级到|改成|换到 到?|成?|了? 了?
    {v} 了? / 换成|换到|切换到|切换成|迁移到|迁移至|转到|转向|转用|改用|换用|升级到|升级为
    |升级至|切换至|换 了? {v} 了?
replaced: 用 {v} 替换|取代|代替|替代|换掉 了? {old} / 把 {old} 换成|替换成|替换为 了? {v} 了? /
    {v} 取代|替代|替换|代替|接替 了 {old} / {old} 被 {v} 取代|替代|替换|代替|接替 了?
changed to: 从 {old}
    改|调整|推迟|提前|延期|上涨|涨|降|下降|提高|增加|减少|升|变|调|挪|移|延长|缩短
    到|为|成|至|在 了? {v} 了? /
    改|调整|推迟|提前|延期|延迟|上涨|涨|降|下降|提高|增加|减少|升|变|调|挪|移|移动
    |延长|缩短|更新|更改|变更|修改|定|降低|提升|改期 到|为|成|至|在 了? {v} 了? / 换到 了? {v}
    了? / 把 {s} 从 {old} 改|调整|推迟|提前|延期|涨|降|提高|增加|减少|升|变|调|挪|移|迁移|搬
    到|为|成|至|在 了? {v} 了? / 将|把 {s}
    改|调整|推迟|提前|延期|延迟|涨|降|提高|增加|减少|升|变|调|挪|移|移动|延长|缩短
    |更新|更改|修改|设置|设|定|换|迁移|搬|降低|提升 到|为|成|至|在 了? {v} 了?
called off: 取消|被取消 了?
is allergic to: 对 {v} 过敏
likes: 最?喜欢(?!的)|爱(?![的好人])|热爱|偏爱|更喜欢 {v}
dislikes: 讨厌|不喜欢 {v}
speaks: 会?[说讲] {v}
knows: 了解|懂|掌握|熟悉 {v}
plays: 玩|打(?!开)|弹|演奏 {v}
drives: 开(?![门始会放发的关]) 着? 一?辆? {v}
gave up: 放弃|戒|戒掉|卖掉|卖|停用|停止使用|弃用 了 {v} 了? / 不再使用|停止使用 {v}
takes place: 在|于|定在|安排在|定于? {t} 举行|召开|开会|进行|开 / 安排|定|定于|预定 在? {v}
start time: 在|从? {t} 开始|开课|开播 / 开始时间|出发时间 是|为 {v}
end date: 在? {t} 结束 / 结束时间 是|为 {v} / 有效期 到|至 {v}
opening time: 在? {t} 开门|营业|开放
closing time: 在? {t} 关门|打烊|闭馆
is written in: 是? 用 {v} 写|编写|开发|实现|重写 的|了?
is hosted on: 托管|部署|架设|运行 在|于 {v} 上?
runs on: 运行|跑 在 {v} 上? / 在 {v} 上 运行|跑
uses: 使用|用的是|采用|用|在用 {v}
is located in: 位于|坐落于|放在|停在|存放在|在 {v} 里?
goes to: 就读于 {v} / 在 {v} 上学|读书|学习|念书|读大学
eats: 吃 {v}
drinks: 喝 {v}
on medication: 服用 {v}
has: 拥有|有|养了 {v}
age: {n} 岁
is: {c} 了? / 已经? {c} 了 / 是|为|变成了|变成|成了|: {v}
""",
    words="""
电话号码=phone_number 手机号码=phone_number 手机号=phone_number 电话=phone_number 邮箱地址=email
电子邮箱=email 电子邮件=email 邮箱=email 邮件=email 住址=home 家庭住址=home 地址=address
价格=price 售价=price 费用=cost 票价=fare 端口=port 截止日期=deadline 截止时间=deadline
期限=deadline 经理=manager 上司=manager 主管=manager 老板=boss 妻子=wife 老婆=wife 太太=wife
丈夫=husband 老公=husband 名字=name 名称=name 年龄=age 总部=headquarters 角色=role 职位=role
职务=role 职业=profession 工作=job 头衔=title 编程语言=language 语言=language 数据库=database
会议=meeting 例会=meeting 周会=weekly_meeting 站会=standup_meeting 约会=appointment 日期=date
时间=time 生日=birthday 大小=size 重量=weight 体重=weight 房租=rent 租金=rent 工资=salary
薪水=salary 月薪=salary 预算=budget 状态=status 版本号=version 版本=version 密码=password
颜色=color 办公室=office 房间=room 会议室=meeting_room 雇主=employer 公司=company 猫=cat 狗=dog
车=car 项目=project 报告=report 服务器=server 服务=service 牙医=dentist 医生=doctor 老师=teacher
负责人=lead 组长=lead 队长=captain 主人=owner 所有者=owner 学校=school 公寓=apartment 房子=house
女儿=daughter 儿子=son 姐姐=sister 妹妹=younger-sister 哥哥=brother 弟弟=younger-brother
母亲=mother 妈妈=mother 父亲=father 爸爸=father 火车=train 航班=flight 课程=course 合同=contract
超时时间=timeout 超时=timeout 上限=limit 首都=capital 供应商=provider 编辑器=editor 城市=city
国家=country 团队=team 部门=department 最喜欢=favorite 最爱=favorite 饮料=drink 食物=food
电影=film 书=book 歌=song 运动=sport 水果=fruit 号码=number 婚姻状况=marital_status 体育=sport
网站=website 单身=single 结婚=married 退休=retired 离职=unemployed 怀孕=pregnant 打开=open
打开的=open 开着=open 开放=open 关闭=closed 关闭的=closed 关着=closed 已解决=resolved
解决=resolved 解决了=resolved 修复=fixed 修好=fixed 完成=done 启用=enabled 禁用=disabled
停用=disabled 单身=single 已婚=married 离异=divorced 素食者=vegetarian 吃素=vegetarian
可用=available 公开=public 私有=private 在线=online 离线=offline 批准=approved 拒绝=rejected
生病=sick 康复=recovered 蓝色=blue 绿色=green 红色=red 黑色=black 白色=white 黄色=yellow
生产环境=production 测试环境=staging
""",
    cues=(
        "我是 我在 我住 我的 我有 我用 我喜 我对 我叫 我今 我最 我们 我会 我每 我养 我开 我现 我家"
    ),
    values=(
        ("(?:每)?(?:周|星期|礼拜)一", " Monday "),
        ("(?:每)?(?:周|星期|礼拜)二", " Tuesday "),
        ("(?:每)?(?:周|星期|礼拜)三", " Wednesday "),
        ("(?:每)?(?:周|星期|礼拜)四", " Thursday "),
        ("(?:每)?(?:周|星期|礼拜)五", " Friday "),
        ("(?:每)?(?:周|星期|礼拜)六", " Saturday "),
        ("(?:每)?(?:周|星期|礼拜)[日天]", " Sunday "),
        (r"(\d{4})年(\d{1,2})月(\d{1,2})[日号]?", r"\1/\2/\3"),
        (r"(\d{1,2})月(\d{1,2})[日号]?", r"month\1 \2"),
        (r"(?:上午|早上|清晨|凌晨|早晨)(\d{1,2})点半", r" \1:30 am "),
        (r"(?:下午|晚上|傍晚|中午)(\d{1,2})点半", r" \1:30 pm "),
        (r"(?:上午|早上|清晨|凌晨|早晨)(\d{1,2})[点:：](\d{2})分?", r" \1:\2 am "),
        (r"(?:下午|晚上|傍晚|中午)(\d{1,2})[点:：](\d{2})分?", r" \1:\2 pm "),
        (r"(?:上午|早上|清晨|凌晨|早晨)(\d{1,2})点(?:钟|整)?", r" \1 am "),
        (r"(?:下午|晚上|傍晚|中午)(\d{1,2})点(?:钟|整)?", r" \1 pm "),
        (r"(\d{1,2})点半", r" \1:30 "),
        (r"(\d{1,2})[点:：](\d{2})分?", r" \1:\2 "),
        (r"(\d{1,2})点(?:钟|整)?", r" \1:00 "),
        (r"(\d+(?:\.\d+)?)万", r"\g<1>0000"),
        (r"(\d+(?:\.\d+)?) ?(?:元|块钱|块|人民币)", r"\1 yuan "),
        (r"(\d+(?:\.\d+)?) ?欧元", r"\1 euros "),
        (r"(\d+(?:\.\d+)?) ?美元", r"\1 dollars "),
        (r"(\d+(?:\.\d+)?) ?岁", r"\1 years old "),
        (r"(\d+(?:\.\d+)?) ?(?:公斤|千克)", r"\1 kg "),
        (r"(\d+(?:\.\d+)?) ?斤", r"\1 jin "),
        (r"(\d+(?:\.\d+)?) ?(?:公里|千米)", r"\1 km "),
        (r"(\d+(?:\.\d+)?) ?米", r"\1 m "),
        (r"(\d+(?:\.\d+)?) ?个?小时", r"\1 hours "),
        (r"(\d+(?:\.\d+)?) ?分钟", r"\1 minutes "),
        (r"(\d+(?:\.\d+)?) ?秒", r"\1 seconds "),
        (r"(\d+(?:\.\d+)?) ?天", r"\1 days "),
        (r"(\d+(?:\.\d+)?) ?(?:周|个星期)", r"\1 weeks "),
        (r"(\d+(?:\.\d+)?) ?个月", r"\1 months "),
        (r"(\d+(?:\.\d+)?) ?年", r"\1 years "),
        (r"(\d+(?:\.\d+)?) ?([GMTK]B?)(?=[\u4e00-\u9fff])", r"\1 \2 of "),
        (r"(\d+) ?[个台名位只辆间张本家条](?=\S)", r"\1 "),
        (r"百分之(\d+(?:\.\d+)?)", r"\1 % "),
    ),
    spaced=False,
)
