//! An element of a JUnit file.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesCData, BytesDecl, Event};

/// An element with attributes, and a text or other elements.
pub struct XmlElement {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    /// The text for a section of CDATA.
    pub(super) text: String,
    pub(super) children: Vec<XmlElement>,
}

impl XmlElement {
    pub(super) fn new(
        name: &'static str,
        attributes: impl IntoIterator<Item = (&'static str, String)>,
        children: Vec<Self>,
    ) -> Self {
        let attributes = attributes.into_iter().collect();
        Self { name, attributes, text: String::new(), children }
    }

    /// Returns the element `name` with a text; `None` if the text is empty.
    pub(super) fn of_text(name: &'static str, text: String) -> Option<Self> {
        (!text.is_empty()).then(|| Self { text, ..Self::new(name, [], Vec::new()) })
    }

    /// Returns whether it has a child with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.children.iter().any(|child| child.name == name)
    }

    /// Returns the file whose root it is.
    pub fn to_xml(&self) -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new());
        writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("utf-8"), None)))?;
        self.write(&mut writer)?;
        Ok(writer.into_inner())
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> io::Result<()> {
        let attributes = self.attributes.iter().map(|(name, value)| (*name, value.as_str()));
        let element = writer.create_element(self.name).with_attributes(attributes);
        if !self.text.is_empty() {
            element.write_cdata_content(BytesCData::new(&*self.text))?;
        } else if self.children.is_empty() {
            element.write_empty()?;
        } else {
            let children = &self.children;
            element.write_inner_content(|writer| {
                children.iter().try_for_each(|child| child.write(writer))
            })?;
        }
        Ok(())
    }
}
