//! Templates written to use up time, memory or stack end with an error, and soon.

mod support;

use std::time::{Duration, Instant};

use dragoman_template::{Budget, Rendered, TemplateError};

fn render(source: &str, budget: &Budget) -> Result<Rendered, TemplateError> {
    support::render_within(budget, source, None)
}

/// Everything that a template can do to be a burden. All must fail within the default budget.
const HOSTILE: [&str; 33] = [
    "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{{ 'x' * 10**9 }}",
    "{{ [0] * 10**9 }}",
    "{{ (0,) * 10**12 }}",
    "{{ range(10**12) }}",
    "{{ range(100001)|list }}",
    "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(99) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
    "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
    "{% set ns = namespace(x='ab') %}{% for i in range(99) %}{% set ns.x = ns.x|replace('a', ns.x) %}{% endfor %}",
    "{% set ns = namespace(x='a') %}{% for i in range(99) %}{% set ns.x = ns.x.join(ns.x ~ 'bc') %}{% endfor %}",
    "{% set ns = namespace(x=[]) %}{% for i in range(99999) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x=[1]) %}{% for i in range(99) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}{{ ns.x }}",
    "{% set ns = namespace(x={}) %}{% for i in range(99) %}{% set ns.x = {'a': ns.x, 'b': ns.x} %}{% endfor %}{{ ns.x|tojson }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ '{:.1000000000}'.format(1.0) }}",
    "{{ '{:.1000000000f}'.format(1.0) }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%.1000000000f' % 1.0 }}",
    "{{ '%*d' % (1000000000, 1) }}",
    "{{ 'x'.center(10**10) }}",
    "{{ 'x'.ljust(10**10) }}",
    "{{ 'x'.zfill(10**10) }}",
    "{{ 'x\t'.expandtabs(10**10) }}",
    "{{ 'x'|indent(10**10, true) }}",
    "{{ [[1]]|tojson(indent=10**9) }}",
    "{{ [1]|batch(10**10, 'x')|list }}",
    "{{ [1]|slice(10**10)|list }}",
    "{{ 10 ** (10 ** 10) }}",
    "{% set ns = namespace(x=7) %}{% for i in range(99) %}{% set ns.x = ns.x * ns.x %}{% endfor %}",
    "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}",
    "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
];

#[test]
fn hostile_templates_fail_soon() {
    for source in HOSTILE {
        let start = Instant::now();
        let result = render(source, &Budget::default());
        assert!(result.is_err(), "{source} rendered");
        println!("{:?} {source}", start.elapsed());
        // Far more than an optimised build takes on an idle machine.
        assert!(start.elapsed() < Duration::from_secs(10), "{source} took {:?}", start.elapsed());
    }
}

#[test]
fn each_limit_has_its_error() {
    let loops = HOSTILE[0];
    let fuel = Budget { fuel: 1000, ..support::unhurried() };
    assert_eq!(render(loops, &fuel), Err(TemplateError::TooManySteps { limit: 1000 }));
    let time = Budget { time: Duration::from_millis(5), ..Budget { fuel: u64::MAX, ..Budget::default() } };
    assert_eq!(render(loops, &time), Err(TemplateError::TooSlow { limit: time.time }));
    let bytes = Budget { output_bytes: 10, ..Budget::default() };
    assert_eq!(render("{{ 'x' * 11 }}", &bytes), Err(TemplateError::OutputTooLarge { bytes: 11, limit: 10 }));
    assert_eq!(
        render("12345{{ '67890' }}1", &bytes),
        Err(TemplateError::OutputTooLarge { bytes: 11, limit: 10 })
    );
    assert_eq!(
        render("12345{{ '67890' }}", &bytes).map(|rendered| rendered.text),
        Ok("1234567890".to_owned())
    );
    let recursion = render("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", &Budget::default());
    assert!(matches!(recursion, Err(TemplateError::TooDeep { .. })), "{recursion:?}");
}

#[test]
fn a_step_more_or_less_decides() {
    let source = "{% for x in range(10) %}{{ x }}{% endfor %}";
    let enough = (1..10_000)
        .find(|&fuel| render(source, &Budget { fuel, ..support::unhurried() }).is_ok())
        .expect("some budget is enough");
    let short = Budget { fuel: enough - 1, ..support::unhurried() };
    assert_eq!(render(source, &short), Err(TemplateError::TooManySteps { limit: enough - 1 }));
}

/// Sources that nest deeply are refused or work, in a thread with little stack, and never abort.
#[test]
fn deep_sources_do_not_exhaust_the_stack() {
    let run = || {
        let deep = 100_000;
        for source in [
            format!("{{{{ {}1{} }}}}", "(".repeat(deep), ")".repeat(deep)),
            format!("{{{{ {}1{} }}}}", "[".repeat(deep), "]".repeat(deep)),
            format!("{{{{ {}1 }}}}", "-".repeat(deep)),
            format!("{{{{ {}1 }}}}", "not ".repeat(deep)),
            format!("{{{{ 1{} }}}}", " + 1".repeat(deep)),
            format!("{{{{ 1{} }}}}", " ~ 1".repeat(450)),
            format!("{{{{ 1{} }}}}", " + 1".repeat(450)),
            format!("{{{{ 1{} }}}}", "|abs".repeat(450)),
            format!("{{{{ 1{} }}}}", " if 1 else 1".repeat(deep)),
            format!("{{{{ 1{} }}}}", " if 0 else 1".repeat(200)),
            format!("{{{{ x{} }}}}", ".a".repeat(deep)),
            format!("{}{}", "{% if 1 %}".repeat(deep), "{% endif %}".repeat(deep)),
            format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(deep)),
            format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(450)),
            format!("{}{}", "{% for x in [1] %}".repeat(deep), "{% endfor %}".repeat(deep)),
            format!("{{% set {} = 1 %}}", "(".repeat(deep)),
            "{% set ns = namespace() %}{% for i in range(9999) %}{% set ns.n = namespace(n=ns.n) %}{% endfor %}x".to_owned(),
            "{% set ns = namespace() %}{% for i in range(9999) %}{% set ns.n = namespace(n=ns.n) %}{% endfor %}{{ ns }}"
                .to_owned(),
            "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}".to_owned(),
            "{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns.l == ns.l }}{{ ns.l|tojson }}".to_owned(),
        ] {
            // Only that it comes back matters here.
            let _ = render(&source, &support::unhurried());
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("thread").join().expect("no panic");
}
