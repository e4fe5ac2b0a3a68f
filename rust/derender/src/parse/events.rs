//! What parsers make of model output.

/// A step of a parsed message, in the order of the output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Text of the answer.
    Content(String),
    /// Text of the reasoning.
    Reasoning(String),
    /// A tool call begins. `id` is the model's own, where its format has one.
    ToolCallStart { name: String, id: Option<String> },
    /// The next piece of the call's arguments, which together are one JSON text.
    ToolCallArguments(String),
    /// The call is complete: its arguments are whole. A call that is cut never gets this.
    ToolCallEnd,
    /// A call was cut before it had a name, and its tags are no text.
    ToolCallCut,
}

/// Events as they are written; neighbours of one kind are joined.
#[derive(Debug, Default)]
pub struct Events {
    list: Vec<Event>,
    in_call: bool,
    /// Whether any call has begun.
    called: bool,
}

impl Events {
    /// No events, in the arguments of a call or not.
    #[must_use]
    pub fn new(in_call: bool) -> Self {
        Self { list: Vec::new(), in_call, called: false }
    }

    /// Whether the last event of the answer began a call or went on with one.
    #[must_use]
    pub fn in_call(&self) -> bool {
        self.in_call
    }

    /// Text of the answer.
    pub fn content(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.in_call = false;
        match self.list.last_mut() {
            Some(Event::Content(before)) => before.push_str(text),
            _ => self.list.push(Event::Content(text.to_owned())),
        }
    }

    /// Text of the reasoning.
    pub fn reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.list.last_mut() {
            Some(Event::Reasoning(before)) => before.push_str(text),
            _ => self.list.push(Event::Reasoning(text.to_owned())),
        }
    }

    /// A call begins.
    pub fn call_start(&mut self, name: &str, id: Option<&str>) {
        (self.in_call, self.called) = (true, true);
        self.list.push(Event::ToolCallStart { name: name.to_owned(), id: id.map(str::to_owned) });
    }

    /// A piece of the arguments.
    pub fn arguments(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.list.last_mut() {
            Some(Event::ToolCallArguments(before)) => before.push_str(text),
            _ => self.list.push(Event::ToolCallArguments(text.to_owned())),
        }
    }

    /// The call is complete.
    pub fn call_end(&mut self) {
        self.in_call = false;
        self.list.push(Event::ToolCallEnd);
    }

    /// A call was cut before it had a name.
    pub fn call_cut(&mut self) {
        self.list.push(Event::ToolCallCut);
    }

    /// A whole call.
    pub fn call(&mut self, name: &str, id: Option<&str>, arguments: &str) {
        self.call_start(name, id);
        self.arguments(arguments);
        self.call_end();
    }

    /// Appends other events, without content of which `is_dropped` holds: it is told whether a call has begun before.
    pub fn append(&mut self, mut others: Self, is_dropped: impl Fn(&str, bool) -> bool) {
        for event in others.drain() {
            match event {
                Event::Content(text) if is_dropped(&text, self.called) => {}
                Event::Content(text) => self.content(&text),
                Event::Reasoning(text) => self.reasoning(&text),
                Event::ToolCallStart { name, id } => self.call_start(&name, id.as_deref()),
                Event::ToolCallArguments(text) => self.arguments(&text),
                Event::ToolCallEnd => self.call_end(),
                Event::ToolCallCut => self.call_cut(),
            }
        }
    }

    /// Takes all events out.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Event> {
        self.list.drain(..)
    }
}
